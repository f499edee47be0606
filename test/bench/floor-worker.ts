/** The floor of the webhook on workerd: a bare worker that does one insert over the Neon driver and checks nothing. */
import { neon, neonConfig } from "@neondatabase/serverless";

interface Environment {
  DATABASE_URL: string;
  SLIPWAY_NEON_ENDPOINT: string;
}

export default {
  async fetch(request: Request, environment: Environment): Promise<Response> {
    neonConfig.fetchEndpoint = environment.SLIPWAY_NEON_ENDPOINT;
    const sql = neon(environment.DATABASE_URL);
    if (request.method === "GET") {
      await sql.query(
        "create table if not exists floor_deliveries (id text primary key, body text not null)",
      );
      return Response.json({ ready: true });
    }
    const body = await request.text();
    const id = request.headers.get("x-provider-delivery");
    await sql.query("insert into floor_deliveries (id, body) values ($1, $2)", [id, body]);
    return Response.json({ success: true });
  },
};
