-- Compressing a body of 10 kB is a third of what storing its delivery costs the database; bodies go after 30 days.
ALTER TABLE "webhook_deliveries" ALTER COLUMN "body" SET STORAGE EXTERNAL;
