/**
 * Metrics in Prometheus' text format 0.0.4, which every monitor reads. Memory is bounded whatever a caller does: beyond
 * `mostSeries` of one metric, new combinations of labels count under `other`. Rejected: a library, for what is a map
 * of numbers and thirty lines of text.
 */
import type { Log } from "../ports/log.ts";
import type { Labels, MetricDefinition, Metrics, Sample } from "../ports/metrics.ts";

const mostSeries = 1_000;
/** Prometheus gives a scrape 10 s; one slow reader must not cost all the others. */
const readMs = 5_000;

type Type = "counter" | "gauge" | "histogram";

export function createMetrics({ log }: { log: Log }): Metrics {
  const families: (() => Promise<string>)[] = [];
  return {
    counter(definition) {
      const values = new Map<string, { value: number }>();
      families.push(async () =>
        family(
          definition,
          "counter",
          [...values].map(([labels, { value }]) => `${definition.name}${labels} ${value}`),
        ),
      );
      return {
        add: (labels = {}, amount = 1) => {
          seriesOf(values, labels, () => ({ value: 0 })).value += amount;
        },
      };
    },
    histogram(definition) {
      const { buckets } = definition;
      const values = new Map<string, Distribution>();
      const fresh = () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 });
      families.push(async () =>
        family(
          definition,
          "histogram",
          [...values].flatMap(([labels, one]) => distributionLines(definition.name, labels, buckets, one)),
        ),
      );
      return {
        observe: (labels, value) => {
          const one = seriesOf(values, labels, fresh);
          const bucket = buckets.findIndex((bound) => value <= bound);
          if (bucket >= 0) one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
          one.sum += value;
          one.count += 1;
        },
      };
    },
    gauges(definitions, read) {
      families.push(async () => {
        const samples = await within(readMs, async () => read());
        return definitions.map((definition) => gaugeLines(definition, samples)).join("");
      });
    },
    async expose() {
      const texts = await Promise.all(
        families.map((text) =>
          text().catch((error: unknown) => {
            log.warn({ error }, "some metrics could not be read");
            return "";
          }),
        ),
      );
      return texts.join("");
    },
  };
}

interface Distribution {
  /** By bucket, not added up. */
  counts: number[];
  sum: number;
  count: number;
}

function seriesOf<T>(values: Map<string, T>, labels: Labels, fresh: () => T): T {
  const text = labelText(labels);
  const known = values.get(text);
  if (known !== undefined) return known;
  if (values.size >= mostSeries) {
    const other = labelText(Object.fromEntries(Object.keys(labels).map((name) => [name, "other"])));
    if (other !== text) return seriesOrAdd(values, other, fresh);
  }
  return seriesOrAdd(values, text, fresh);
}

function seriesOrAdd<T>(values: Map<string, T>, text: string, fresh: () => T): T {
  const one = values.get(text) ?? fresh();
  values.set(text, one);
  return one;
}

function family({ name, help }: MetricDefinition, type: Type, lines: readonly string[]): string {
  const heads = [`# HELP ${name} ${help.replace(/[\\\n]/g, " ")}`, `# TYPE ${name} ${type}`];
  return `${[...heads, ...lines].join("\n")}\n`;
}

function gaugeLines(definition: MetricDefinition, samples: readonly Sample[]): string {
  const own = samples.filter(({ name }) => name === definition.name);
  return family(
    definition,
    "gauge",
    own.map(({ name, labels, value }) => `${name}${labelText(labels ?? {})} ${value}`),
  );
}

function distributionLines(
  name: string,
  labels: string,
  buckets: readonly number[],
  { counts, sum, count }: Distribution,
): string[] {
  const withBound = (bound: string) =>
    labels === "" ? `{le="${bound}"}` : `${labels.slice(0, -1)},le="${bound}"}`;
  let below = 0;
  const lines = buckets.map((bound, index) => {
    below += counts[index] ?? 0;
    return `${name}_bucket${withBound(String(bound))} ${below}`;
  });
  lines.push(`${name}_bucket${withBound("+Inf")} ${count}`);
  return [...lines, `${name}_sum${labels} ${sum}`, `${name}_count${labels} ${count}`];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return await Promise.race([work(), late]).finally(() => clearTimeout(timer));
}
