/** What one project may take of a server of the operator's pool (SLIPWAY_POOL_SERVERS): each container of it, and each step of its builds. */
export interface PoolLimits {
  cpus: number;
  memoryMB: number;
  /** Processes and threads. */
  pids: number;
}
