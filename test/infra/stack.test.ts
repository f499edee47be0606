/** What would be made in the cloud: least privilege, dead letters with alarms, replicas, a fixed address. */
import { beforeAll, expect, test } from "vitest";
import { mockCloud, type Resource } from "./mocked-cloud.ts";

let all: Resource[];
beforeAll(async () => {
  all = await mockCloud("production");
});

const of = (type: string) => all.filter((each) => each.type === type);

test("the worker's key may send to one queue, and nothing else", () => {
  expect(of("aws:iam/user:User")).toHaveLength(1);
  const [policy] = of("aws:iam/userPolicy:UserPolicy");
  const { Statement } = JSON.parse(policy?.inputs["policy"]);
  expect(Statement).toEqual([
    { Effect: "Allow", Action: ["sqs:SendMessage"], Resource: [expect.any(String)] },
  ]);
});

test("queues are FIFO, with dead letters that raise an alarm", () => {
  const queues = of("aws:sqs/queue:Queue");
  expect(queues.map(({ inputs }) => inputs["fifoQueue"])).toEqual([true, true]);
  const live = queues.find(({ inputs }) => inputs["visibilityTimeoutSeconds"] === 30);
  expect(live).toBeDefined();
  const redrive = all.find(({ inputs }) => inputs["redrivePolicy"] !== undefined)?.inputs["redrivePolicy"];
  expect(JSON.parse(redrive)).toMatchObject({ maxReceiveCount: 8 });
  const alarms = of("aws:cloudwatch/metricAlarm:MetricAlarm").map(({ inputs }) => inputs["metricName"]);
  expect(alarms.sort()).toEqual(["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"]);
});

test("each module has two replicas at least, time to stop, and the cloud's image", () => {
  const services = of("aws:ecs/service:Service");
  expect(services).toHaveLength(3);
  const scaling = of("aws:appautoscaling/target:Target").map(({ inputs }) => inputs["minCapacity"]);
  expect(scaling).toEqual([2, 2, 2]);
  for (const { inputs } of of("aws:ecs/taskDefinition:TaskDefinition")) {
    const [container] = JSON.parse(inputs["containerDefinitions"]);
    expect(container.stopTimeout).toBe(120);
    expect(["platform", "deploy", "notify"]).toContain(container.command[0]);
    // The agent of the task says itself where it is asked for protection: nothing may stand in its place.
    expect(container.environment.map(({ name }: { name: string }) => name)).not.toContain("ECS_AGENT_URI");
    // Secrets are references; none stands in the definition.
    expect(inputs["containerDefinitions"]).not.toContain("secret of");
  }
});

test("a module is given its own classes of secrets alone", () => {
  const names = of("aws:ssm/parameter:Parameter").map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("deploy-SLIPWAY_SEAL")).sort()).toEqual([
    "deploy-SLIPWAY_SEAL_CLOUD",
    "deploy-SLIPWAY_SEAL_ENV",
    "deploy-SLIPWAY_SEAL_GIT",
    "deploy-SLIPWAY_SEAL_REGISTRY",
    "deploy-SLIPWAY_SEAL_SERVER",
    "deploy-SLIPWAY_SEAL_WEBHOOK",
  ]);
  expect(names.some((name) => name.includes("IDENTITY_KEY"))).toBe(false);
});

test("servers see one fixed address a zone", () => {
  expect(of("aws:ec2/eip:Eip").length).toBeGreaterThan(0);
  expect(of("aws:ec2/natGateway:NatGateway").length).toBeGreaterThan(0);
});

test("the worker holds its secrets as secrets", () => {
  const [script] = of("cloudflare:index/workersScript:WorkersScript");
  const bindings = script?.inputs["bindings"] as { name: string; type: string }[];
  const types = Object.fromEntries(bindings.map(({ name, type }) => [name, type]));
  expect(types).toMatchObject({
    SHIELD: "ratelimit",
    DATABASE_URL: "secret_text",
    SLIPWAY_IDENTITY_KEY: "secret_text",
    SLIPWAY_SEAL_WEBHOOK: "secret_text",
    AWS_SECRET_ACCESS_KEY: "secret_text",
  });
  expect(Object.keys(types).some((name) => name.startsWith("SLIPWAY_SEAL_SERVER"))).toBe(false);
});

test("a module is asked for its health, and leaves the balancer soon after it is told to stop", () => {
  const targets = of("aws:lb/targetGroup:TargetGroup").map(({ inputs }) => inputs);
  expect(targets).toHaveLength(3);
  for (const { healthCheck, deregistrationDelay } of targets) {
    expect(healthCheck).toMatchObject({ path: "/health", interval: 10, timeout: 5 });
    expect(deregistrationDelay).toBe(30);
  }
});

test("each module may protect its task while it works, and the deploy module alone may use the queue", () => {
  const policies = of("aws:iam/role:Role").flatMap(({ name, inputs }) => {
    const own = ((inputs["inlinePolicies"] ?? []) as { policy: string }[]).map(({ policy }) => policy);
    return name.endsWith("TaskRole") ? [{ name, allowed: own.join() }] : [];
  });
  expect(policies.map(({ name }) => name).sort()).toEqual([
    "DeployServiceTaskRole",
    "NotifyServiceTaskRole",
    "PlatformServiceTaskRole",
  ]);
  for (const { name, allowed } of policies) {
    expect(allowed).toContain("ecs:UpdateTaskProtection");
    expect(allowed.includes("sqs:ReceiveMessage")).toBe(name.startsWith("Deploy"));
  }
});
