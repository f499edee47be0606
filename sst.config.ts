/// <reference path="./.sst/platform/config.d.ts" />
/**
 * The cloud: the edge as a Cloudflare Worker, the modules as Fargate services behind one load balancer with a fixed
 * outgoing address, SQS FIFO between them, Neon outside. Self-hosted modules (mail, migration) have no service and are
 * not in the image. Secrets come by class: each part is given what it opens and nothing else (docs/operating.md).
 * Rejected: linking the queue to the worker, which grants it `sqs:*`; containers on Cloudflare (no fixed address).
 */
const region = "eu-central-1";
const modules = { platform: 8443, deploy: 8444, notify: 8445 } as const;
type ModuleName = keyof typeof modules;

const classesOf = {
  edge: ["webhook", "idempotency"],
  platform: ["server", "env", "webhook", "git", "registry", "cloud"],
  deploy: ["server", "env", "webhook", "git", "registry", "cloud"],
  notify: ["notify"],
} as const;

export default $config({
  app: (input) => ({
    name: "slipway",
    home: "aws",
    removal: input?.stage === "production" ? "retain" : "remove",
    protect: input?.stage === "production",
    providers: { aws: { region }, cloudflare: "6.15.0" },
  }),
  async run() {
    const domain = stageDomain();
    const secrets = makeSecrets();
    const queue = makeQueue(makeAlarms());
    const { vpc, cluster, alb } = makeNetwork(domain);
    const services = (["platform", "deploy", "notify"] as const).map((module) =>
      makeService(module, { domain, secrets, queue, cluster, alb }),
    );
    const worker = makeWorker({ domain, secrets, queue });
    return {
      url: worker.url,
      services: services.length,
      /** For the firewalls of managed servers: all SSH comes from here. */
      egressAddresses: vpc.nodes.elasticIps.apply((ips) => ips.map((ip) => ip.publicIp)),
    };
  },
});

/** production: SLIPWAY_DOMAIN itself; any other stage below it. */
function stageDomain(): string {
  const domain = process.env["SLIPWAY_DOMAIN"];
  if (domain === undefined || !/^[a-z0-9.-]+\.[a-z]+$/.test(domain)) {
    throw new Error("Set SLIPWAY_DOMAIN, for example slipway.example.com.");
  }
  return $app.stage === "production" ? domain : `${$app.stage}.${domain}`;
}

/** The operator's pool, as the environment of whoever deploys says it. */
function poolSettings(): Record<string, string> {
  const names = ["SERVERS", "CPUS", "MEMORY_MB", "PIDS"].map((each) => `SLIPWAY_POOL_${each}`);
  const given = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}

type Secrets = ReturnType<typeof makeSecrets>;

function makeSecrets() {
  const seal = (name: string) => new sst.Secret(`Seal${name}`);
  return {
    database: new sst.Secret("DatabaseUrl"),
    edgeDatabase: new sst.Secret("EdgeDatabaseUrl"),
    identityKey: new sst.Secret("IdentityKey"),
    identityPublicKeys: new sst.Secret("IdentityPublicKeys"),
    gitWebhook: new sst.Secret("GitWebhookSecret", ""),
    rings: {
      webhook: seal("Webhook"),
      idempotency: seal("Idempotency"),
      server: seal("Server"),
      env: seal("Env"),
      git: seal("Git"),
      registry: seal("Registry"),
      cloud: seal("Cloud"),
      notify: seal("Notify"),
    },
  };
}

function ringsFor(part: keyof typeof classesOf, { rings }: Secrets) {
  return Object.fromEntries(
    classesOf[part].map((each) => [`SLIPWAY_SEAL_${each.toUpperCase()}`, rings[each].value]),
  );
}

function makeAlarms() {
  return new aws.sns.Topic("Alarms");
}

type Queue = ReturnType<typeof makeQueue>;

function makeQueue(alarms: ReturnType<typeof makeAlarms>) {
  const dead = new sst.aws.Queue("DeployDead", {
    fifo: true,
    transform: { queue: { messageRetentionSeconds: 14 * 86_400 } },
  });
  // Consumers lay a message aside after five attempts; this is for those whose consumers die each time.
  const live = new sst.aws.Queue("Deploy", {
    fifo: true,
    visibilityTimeout: "30 seconds",
    dlq: { queue: dead.arn, retry: 8 },
  });
  const watch = (name: string, queue: sst.aws.Queue, metric: string, above: number) =>
    new aws.cloudwatch.MetricAlarm(name, {
      namespace: "AWS/SQS",
      metricName: metric,
      dimensions: { QueueName: queue.nodes.queue.name },
      statistic: "Maximum",
      period: 60,
      evaluationPeriods: 1,
      comparisonOperator: "GreaterThanThreshold",
      threshold: above,
      alarmActions: [alarms.arn],
    });
  watch("DeployDeadAlarm", dead, "ApproximateNumberOfMessagesVisible", 0);
  watch("DeployAgeAlarm", live, "ApproximateAgeOfOldestMessage", 300);
  return { live, dead };
}

function makeNetwork(domain: string) {
  const vpc = new sst.aws.Vpc("Vpc", { nat: $app.stage === "production" ? "managed" : "ec2" });
  const cluster = new sst.aws.Cluster("Cluster", { vpc });
  const alb = new sst.aws.Alb("Functions", {
    vpc,
    domain: { name: `functions.${domain}`, dns: sst.cloudflare.dns() },
    listeners: Object.values(modules).map((port) => ({ port, protocol: "https" as const })),
  });
  return { vpc, cluster, alb };
}

const serviceNames = {
  platform: "PlatformService",
  deploy: "DeployService",
  notify: "NotifyService",
} as const;

interface ServiceParts {
  domain: string;
  secrets: Secrets;
  queue: Queue;
  cluster: sst.aws.Cluster;
  alb: sst.aws.Alb;
}

function makeService(module: ModuleName, { domain, secrets, queue, cluster, alb }: ServiceParts) {
  const ofQueue = {
    SLIPWAY_QUEUE_DEPLOY: queue.live.url,
    SLIPWAY_QUEUE_DEPLOY_DEAD: queue.dead.url,
    AWS_REGION: region,
  };
  return new sst.aws.Service(serviceNames[module], {
    cluster,
    cpu: "0.5 vCPU",
    memory: "1 GB",
    image: { context: ".", dockerfile: "Dockerfile", target: "cloud" },
    command: [module],
    // Two at least: they share the work by leases, and one takes over when the other is gone.
    scaling: { min: 2, max: module === "deploy" ? 10 : 4, cpuUtilization: 60 },
    loadBalancer: {
      instance: alb,
      rules: [
        { listen: `${modules[module]}/https`, forward: "3000/http", conditions: { path: "/*" }, priority: 1 },
      ],
      health: { "3000/http": { path: "/health", interval: "10 seconds", timeout: "5 seconds" } },
    },
    environment: {
      SLIPWAY_MODE: "cloud",
      SLIPWAY_BASE_URL: `https://${domain}`,
      SLIPWAY_BASE_DOMAIN: `apps.${domain}`,
      ...(module === "deploy" ? ofQueue : {}),
      ...(module === "notify" ? {} : poolSettings()),
    },
    ssm: secretParameters(module, secrets),
    permissions: [
      { actions: ["ecs:UpdateTaskProtection", "ecs:GetTaskProtection"], resources: ["*"] },
      ...(module === "deploy" ? queuePermissions(queue) : []),
    ],
    transform: {
      taskDefinition: (args) => {
        args.containerDefinitions = withStopTimeout(args.containerDefinitions);
      },
      // A stream may be open for hours; a request that ends it is the rare case.
      target: { deregistrationDelay: 30 },
    },
  });
}

/** As references: a task definition is readable by more people than a secret may be. */
function secretParameters(module: ModuleName, secrets: Secrets) {
  const values = {
    DATABASE_URL: secrets.database.value,
    SLIPWAY_IDENTITY_PUBLIC_KEYS: secrets.identityPublicKeys.value,
    ...ringsFor(module, secrets),
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const parameter = new aws.ssm.Parameter(`${module}-${name}`, { type: "SecureString", value });
      return [name, parameter.arn];
    }),
  );
}

function queuePermissions({ live, dead }: Queue) {
  const receive = ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"];
  return [
    { actions: receive.map((each) => `sqs:${each}`), resources: [live.arn] },
    { actions: ["sqs:SendMessage", "sqs:GetQueueAttributes"], resources: [dead.arn] },
  ];
}

/** The longest that Fargate gives: stories hand their leases back in it. */
function withStopTimeout(definitions: $util.Input<string>) {
  return $util.output(definitions).apply((text) => {
    const containers = JSON.parse(text) as Record<string, unknown>[];
    return JSON.stringify(containers.map((each) => ({ ...each, stopTimeout: 120 })));
  });
}

interface WorkerParts {
  domain: string;
  secrets: Secrets;
  queue: Queue;
}

function makeWorker({ domain, secrets, queue }: WorkerParts) {
  // Twice the exact figure of 120: see edge/adapters/shielded-limiter.ts.
  const shield = new sst.cloudflare.RateLimit("SHIELD", {
    namespaceId: 1120,
    limit: 240,
    period: "1 minute",
  });
  const sender = makeSender(queue);
  const secretTexts = {
    DATABASE_URL: secrets.edgeDatabase.value,
    SLIPWAY_IDENTITY_KEY: secrets.identityKey.value,
    GIT_WEBHOOK_SECRET: secrets.gitWebhook.value,
    AWS_SECRET_ACCESS_KEY: sender.secret,
    ...ringsFor("edge", secrets),
  };
  return new sst.cloudflare.Worker("Edge", {
    handler: "edge/worker.ts",
    domain,
    link: [shield],
    compatibility: { date: "2026-10-01", flags: ["enable_request_signal", "request_signal_passthrough"] },
    environment: {
      SLIPWAY_MODE: "cloud",
      SLIPWAY_BASE_URL: `https://${domain}`,
      SLIPWAY_PLATFORM_URL: `https://functions.${domain}:${modules.platform}`,
      SLIPWAY_DEPLOY_URL: `https://functions.${domain}:${modules.deploy}`,
      SLIPWAY_NOTIFY_URL: `https://functions.${domain}:${modules.notify}`,
      SLIPWAY_QUEUE_DEPLOY: queue.live.url,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: sender.id,
    },
    transform: {
      worker: (args) => {
        args.bindings = $util
          .all([args.bindings ?? [], $util.output(secretTexts)])
          .apply(([bindings, texts]) => [
            ...bindings,
            ...Object.entries(texts).map(([name, text]) => ({ type: "secret_text", name, text })),
          ]);
      },
    },
  });
}

/** Who has the worker's key may send to one queue, and nothing else. */
function makeSender({ live }: Queue) {
  const user = new aws.iam.User("EdgeSender");
  new aws.iam.UserPolicy("EdgeSenderPolicy", {
    user: user.name,
    policy: $jsonStringify({
      Version: "2012-10-17",
      Statement: [{ Effect: "Allow", Action: ["sqs:SendMessage"], Resource: [live.arn] }],
    }),
  });
  return new aws.iam.AccessKey("EdgeSenderKey", { user: user.name });
}
