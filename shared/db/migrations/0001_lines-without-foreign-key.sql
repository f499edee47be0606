ALTER TABLE "operation_events" DROP CONSTRAINT "operation_events_operation_id_operations_id_fk";
--> statement-breakpoint
CREATE INDEX "operations_waiting" ON "operations" USING btree ("subject_id","created_at") WHERE not final;