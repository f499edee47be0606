/** The worker's settings: what it cannot do without is asked for by name, and no value is ever repeated. */
import { expect, test } from "vitest";
import { readWorkerSettings } from "../../edge/worker-environment.ts";
import { makeIdentityKey, makeSealKey } from "../keys.ts";

const ring = () => JSON.stringify([{ kid: "k1", key: makeSealKey() }]);
const whole = {
  SLIPWAY_BASE_URL: "https://slipway.example.com/",
  DATABASE_URL: "postgres://edge:secret@neon.test/slipway",
  SLIPWAY_PLATFORM_URL: "https://functions.example.com:8443",
  SLIPWAY_DEPLOY_URL: "https://functions.example.com:8444",
  SLIPWAY_NOTIFY_URL: "https://functions.example.com:8445",
  SLIPWAY_SEAL_WEBHOOK: ring(),
  SLIPWAY_SEAL_IDEMPOTENCY: ring(),
  SLIPWAY_IDENTITY_KEY: JSON.stringify(makeIdentityKey()),
  SLIPWAY_QUEUE_DEPLOY: "https://sqs.eu-central-1.amazonaws.com/1/deploy.fifo",
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKIA",
  AWS_SECRET_ACCESS_KEY: "aws-secret",
  SHIELD: { limit: async () => ({ success: true }) },
};

test("are the cloud's, unless it is said otherwise", () => {
  expect(readWorkerSettings(whole)).toMatchObject({
    mode: "cloud",
    baseUrl: "https://slipway.example.com",
    apiPerMinute: 1_200,
    instanceWebhookSecret: null,
  });
});

test.each(Object.keys(whole))("cannot lack %s", (name) => {
  for (const value of [undefined, " "]) {
    expect(() => readWorkerSettings({ ...whole, [name]: value })).toThrow(name);
  }
});

test.each([
  ["SLIPWAY_SEAL_WEBHOOK", '[{"kid":"k","key":"hunter22"}]'],
  ["SLIPWAY_SEAL_WEBHOOK", "[]"],
  ["SLIPWAY_SEAL_IDEMPOTENCY", "hunter22"],
  ["SLIPWAY_IDENTITY_KEY", '{"kty":"OKP","crv":"Ed25519","kid":"hunter22","x":"y"}'],
  ["GIT_WEBHOOK_SECRET", "hunter22"],
  ["SLIPWAY_API_LIMIT", "hunter22"],
])("are refused when %s is wrong, without repeating it", (name, value) => {
  const read = () => readWorkerSettings({ ...whole, [name]: value });
  expect(read).toThrow(name);
  expect(read).not.toThrow("hunter22");
});
