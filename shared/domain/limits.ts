/**
 * Every bound of the product, in one place, each with its reason. Out of range is refused, never silently clamped
 * (decisions.md section 1). Units stand last in the names.
 */
export const limits = {
  /** Names of things that people give. */
  nameLength: 100,
  /** JSON bodies; nothing that the API takes as JSON needs more. */
  jsonBodyBytes: 1_048_576,
  /** Webhook bodies: "5 MB" of the spec, meant as MiB so that every 5·10⁶ body passes. */
  webhookBodyBytes: 5_242_880,
  /** That much over a line of 700 kbit/s; git hosts give up after ten seconds. */
  deliveryBodyMs: 60_000,
  /** POST /api/webhooks/:provider, exact, per source address (spec.md "Limits"). */
  webhookPerMinute: 120,
  /** Of the worker's shield before that count; Cloudflare allows 10 s and 60 s. Its figure is in edge/wrangler.jsonc. */
  shieldPeriodMs: 60_000,
  /** The queue's answer to a nudge; the deployment is committed already. */
  nudgeMs: 5_000,
  /** Authenticated API, per token, unless SLIPWAY_API_LIMIT says otherwise. */
  apiPerMinute: 1_200,
  /** A shorter secret of the instance can be guessed from one signed delivery. */
  webhookSecretLength: 16,
  /**
   * Distinct secrets tried for one delivery, and as many again where what was remembered of them has changed: bounds the
   * work an unsigned request can cause.
   */
  webhookSecretsTried: 16,
  /** Bodies whose signature Node checks without a thread of its pool: 16 secrets over 64 KiB take a few milliseconds at most. */
  hmacAtOnceBytes: 65_536,
  /** Projects read before the signature holds: those of one repository may share a secret. */
  hookedProjectsRead: 64,
  /** Repositories whose projects the edge remembers: some 10 MB when full. */
  lookUpsRemembered: 1_000,
  /** Opened hook secrets that the edge keeps at hand: about 1 MB. */
  openedSecrets: 1_000,
  /** Deliveries that share one statement: 32 bodies of the size below are 2 MiB. Larger ones go alone. */
  deliveryBatch: 32,
  deliveryBatchBodyBytes: 65_536,
  /** How long a delivery may be worked on before another may take it over. */
  deliveryLeaseMs: 30_000,
  /** A failed delivery is tried again after 30 s, doubling up to an hour; then only when the git host sends it again. */
  deliveryRetryMs: 30_000,
  deliveryRetryMostMs: 3_600_000,
  deliveryAttempts: 10,
  /** Pushes of a project that tell where a branch went: a delivery that is later than so many counts as new. */
  pushesRemembered: 100,
  /** Deliveries are looked at for 30 days; then they go, so many in one statement. */
  webhookDeliveriesKeptMs: 30 * 86_400_000,
  deliveriesForgotten: 500,
  /** Each auto-deployed branch is looked at this often, so many at once, and for so long. */
  reconcileMs: 300_000,
  reconcileAtOnce: 4,
  reconcileLookMs: 20_000,
  /** Of one sweep; what is left over is due at the next one. */
  reconcileRounds: 250,
  reconcileSweepMs: 15_000,
  /** A git host may show the head before for a moment after a push. */
  reconcileGraceMs: 60_000,
  /** Between looks at a branch that cannot be seen. */
  reconcileRestMostMs: 3_600_000,
  /** A push that goes on to the cloud: shorter than the lease under which it goes. */
  deliveryForwardMs: 20_000,
  /** The linked cloud has this long to begin an answer: less than the edge waits for a function. */
  cloudAnswerMs: 30_000,
  /** An answer of the cloud that is looked into: a page of deployments with their errors. */
  cloudJsonBytes: 16_777_216,
  /** Longer ids of deliveries are kept as their hash. */
  deliveryIdLength: 128,
  commitMessageLength: 500,
  /** Sources and tokens that the limiter of one process remembers: about 20 MB when full. */
  limiterKeys: 100_000,
  /** Deliveries that failed or lost their owner are tried again this often. */
  deliverySweepMs: 30_000,
  /** The edge remembers who a token is for this long; functions ask the database each time. */
  credentialCacheMs: 30_000,
  credentialCacheEntries: 10_000,
  /** Requests that share the question whether their tokens still hold. */
  admittedAtOnce: 100,
  /** The last use of a token is written at most this often. */
  lastUsedMs: 60_000,
  /** The database has this long to answer the question of readiness. */
  readyMs: 2_000,
  /** Sessions of people end this long after their last use. */
  sessionMs: 30 * 86_400_000,
  /** A one-time link in a mailbox is a key: it works for a week. */
  invitationMs: 7 * 86_400_000,
  /** Tries of a password or a one-time link, per source and per account: what a person mistypes, and no more. */
  signInPerMinute: 10,
  /** First answers to requests with an Idempotency-Key are kept this long. */
  idempotencyMs: 86_400_000,
  /** A second request with the same key waits this long for the answer of the first. */
  idempotencyWaitMs: 5_000,
  idempotencyPollMs: 100,
  /** No request is under way longer than the edge waits for a function; after that it was cut off. */
  idempotencyUnderWayMs: 75_000,
  /** What is over is deleted this often. */
  expiredSweepMs: 3_600_000,
  /** Wrong set-up codes before another one is made. */
  setUpTries: 5,
  passwordLeast: 10,
  /** Hashing costs by length; nobody types more. */
  passwordMost: 1_000,
  pageDefault: 50,
  pageMost: 200,
  envKeyLength: 256,
  envValueBytes: 65_536,
  envEntries: 500,
  /** Registries of an organization: each build is handed their credentials. */
  registriesMost: 50,
  servicesMost: 50,
  /** Ports, volumes, dependencies or watched paths of one service. */
  serviceEntries: 100,
  volumesMost: 20,
  /** Of one project that is promoted: they come in one request. */
  promotedDomains: 200,
  /** A lease outlives three missed heartbeats (architecture.md section 4). */
  leaseMs: 30_000,
  heartbeatMs: 10_000,
  /** After a heartbeat that failed. */
  heartbeatRetryMs: 1_000,
  /** An owner that cannot renew stops this long before its lease ends: clocks drift, and stopping takes a moment. */
  leaseMarginMs: 5_000,
  /** Open operations that nobody works on are looked for this often; NOTIFY is the fast way. */
  sweepMs: 5_000,
  /** Owners in a row that got nowhere: then the operation has failed. As many again may try to undo it. */
  stalledAttempts: 5,
  /** Tries to end the remote work of a failed or cancelled operation, before it is written as left behind. */
  undoAttempts: 6,
  undoBackoffMostMs: 30_000,
  /** What a story gets to stop in, when its process ends. Fargate kills after 120 s, systemd after 90. */
  storyStopMs: 10_000,
  /** One line of a log; the rest of a longer one is cut and said so. */
  logLineBytes: 16_384,
  /** Lines are stored at the latest after this time, or this many, or this much of them: what one transaction carries. */
  logFlushMs: 100,
  logFlushLines: 500,
  logFlushBytes: 1_048_576,
  /** Shorter secrets are not looked for in logs: `true` or `3000` would black out every line. */
  secretLength: 6,
  /** Comments on an idle stream, so that proxies keep it open. */
  streamCommentMs: 15_000,
  /** A reader that takes nothing for this long is cut off; it resumes with `Last-Event-ID`. */
  streamStalledMs: 60_000,
  /** Events read from the log at once, and kept in memory of each operation that is followed. */
  streamPageEvents: 500,
  streamTailBytes: 2_097_152,
  /** Where no notification comes, the log is looked at this often. */
  streamPollMs: 1_000,
  /** How often an open stream asks again whether its reader may still read. */
  streamRecheckMs: 10_000,
  /** Life of the token between edge and functions. */
  identitySeconds: 60,
  /** How long a request waits for a module before the edge answers 502. Streams are not bound by it once open. */
  forwardMs: 60_000,
  /** Builds and fetches have a hard end, so that nothing is in flight for ever. */
  fetchMs: 10 * 60_000,
  buildMs: 60 * 60_000,
  healthTimeoutSeconds: 60,
  /** A server that cannot be reached for this long fails the operation that needs it. */
  serverLostMs: 60_000,
  /** Time an old container has to finish its requests after the switch. */
  drainMs: 10_000,
  /** How long a request to delete a project waits for the server, before it says that this goes on. */
  removalWaitMs: 30_000,
  /** All requests that register a webhook at a git host, while somebody waits for the answer. */
  hookRegisterMs: 10_000,
  hookRemoveMs: 5_000,
  /** Webhooks that follow a git connection to another address: no more are begun after this, and this many at once. */
  hooksMoveMs: 20_000,
  hooksMovedAtOnce: 4,
  /** One commit status, from the host's name to its answer. */
  statusSendMs: 10_000,
  /** Longer than one may take. */
  statusLeaseMs: 30_000,
  /** Statuses that wait are looked for this often, and this many are sent at once. */
  statusSweepMs: 2_000,
  statusesAtOnce: 32,
  /** A git host that is away is asked again after 5 s, doubling up to 15 minutes; after 6 h nobody waits for it. */
  statusRetryMs: 5_000,
  statusRetryMostMs: 15 * 60_000,
  statusGiveUpMs: 6 * 3_600_000,
  /** A commit that is older gets a row of its own again when it is deployed again. */
  statusesKeptMs: 30 * 86_400_000,
  rollbackWindow: 5,
  rollbackWindowMost: 50,
  /** "300 MB" of an uploaded archive, meant as MiB like the bodies of deliveries. */
  uploadBytes: 314_572_800,
  /** What an archive may unpack to: a bomb of a few kilobytes must not fill a disk. */
  uploadUnpackedBytes: 2_147_483_648,
  uploadEntries: 100_000,
  /** Of one name inside an archive, and of all of them, which are held in memory while one is checked. */
  uploadNameBytes: 1_024,
  uploadNamesBytes: 33_554_432,
  /** How long an upload may be used for a deployment; after that only deployments keep it. */
  uploadSessionMs: 60 * 60_000,
  /** Sessions of an organization that have not run out: each may hold an archive. */
  uploadSessionsOpen: 100,
  /** A body that brings nothing for this long is given up. */
  uploadStallMs: 60_000,
  /** 300 MB over a line of 1 Mbit/s. */
  uploadMs: 45 * 60_000,
  /** What no session and no deployment keeps is looked for this often, and goes when nobody asked for it this long. */
  uploadSweepMs: 10 * 60_000,
  uploadGraceMs: 60 * 60_000,
  /** What stands in a subject line, and what a person reads of a message. */
  alertTitleLength: 200,
  alertMessageLength: 4_000,
  /** Channels of one person: each costs a request an alert. */
  channelsMost: 2_000,
  /** Tests of channels, per person: a test sends to an address that nobody has confirmed yet. */
  channelTestsPerMinute: 10,
  signingKeyLength: 256,
  /** A receiver gets this long for one delivery, from its name to its answer. */
  sendMs: 10_000,
  /** Deliveries on their way at once. */
  sendsAtOnce: 64,
  /** One sender a channel; longer than a delivery may take. */
  channelLeaseMs: 60_000,
  /** A receiver that fails is tried again after 5 s, doubling up to 15 minutes; after 24 h its channel is disabled. */
  backOffMs: 5_000,
  backOffMostMs: 15 * 60_000,
  channelDeadMs: 86_400_000,
  /** Equal alerts within this time are one delivery. */
  collapseMs: 10 * 60_000,
  /** Alerts told in one transaction. */
  alertsAtOnce: 100,
  /** NOTIFY is the fast way; what it misses is found this late. */
  notifySweepMs: 5_000,
  feedPollMs: 15_000,
  deliveriesMost: 500,
  /** What was told is forgotten after this time. */
  deliveriesKeptMs: 90 * 86_400_000,
  /** The server monitor: every minute, three misses, a tenth of the disk; low again only after it was at 12 %. */
  monitorMs: 60_000,
  monitorAskMs: 20_000,
  monitorMisses: 3,
  diskLowShare: 0.1,
  diskFineShare: 0.12,
  /** Refused deliveries of one repository within ten minutes that make an alert, and at most one an hour. */
  rejectionsNoted: 10,
  rejectionsMs: 10 * 60_000,
  rejectionsQuietMs: 60 * 60_000,
  /** What each container of a project on the operator's pool gets where the operator says nothing: a small web app. */
  poolCpus: 1,
  poolMemoryMB: 1_024,
  poolPids: 512,
  /** How often it is told in the log that a server of the pool cannot take projects. */
  poolLookMs: 60 * 60_000,
} as const;
