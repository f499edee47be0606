/**
 * What the platform counts about itself, for a monitor that reads it from time to time. Labels take few values, known
 * beforehand: a route's pattern and never a path, a status and never a message. What already counts elsewhere (pools,
 * the database) is read when somebody asks. Rejected: pushing to a collector, one more address to configure and reach.
 */
/** The version of the format stands in the type. */
export const exposition = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

export interface MetricDefinition {
  /** `slipway_…`, unit last; counters end in `_total`. */
  name: string;
  help: string;
}

export interface Counter {
  add(labels?: Labels, amount?: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

export interface Sample {
  name: string;
  labels?: Labels;
  value: number;
}

export interface Metrics {
  counter(definition: MetricDefinition): Counter;
  /** `buckets`: upper bounds, ascending. */
  histogram(definition: MetricDefinition & { buckets: readonly number[] }): Histogram;
  /** Gauges that are read when somebody asks. A read that fails leaves its gauges out of that answer. */
  gauges(
    definitions: readonly MetricDefinition[],
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
  ): void;
  /** All of it in Prometheus' text format. Never rejects. */
  expose(): Promise<string>;
}
