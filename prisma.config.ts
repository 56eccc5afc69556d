// Where Prisma's command line finds the schema, the migrations and the database. Bursar itself does not read this file.
import { defineConfig } from 'prisma/config'

const url = process.env.DATABASE_URL

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // `prisma generate` needs no database, so none is required here; `prisma migrate status` needs one.
  ...(url === undefined ? {} : { datasource: { url } }),
})
