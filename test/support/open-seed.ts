/** A signer process up to the first use of a seed: opens the key file and a tenant's seed, prints their digests. */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { openKekFile } from '../../src/keys/kek-file.ts'
import { createPostgresKeystore } from '../../src/keys/postgres-keystore.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'

const [directory = '', tenantId = '', startAt = '0', databaseUrl] = process.argv.slice(2)
// All processes start at the same instant, whenever they were ready.
while (Date.now() < Number(startAt)) await new Promise(setImmediate)
const kek = await openKekFile(directory)
const pool = databaseUrl === undefined ? undefined : new pg.Pool({ connectionString: databaseUrl, max: 1 })
const keystore = pool ? createPostgresKeystore(pool) : await openDirectoryKeystore(directory)
const seed = await (await openTenantSeeds({ keystore, kek })).loadOrCreate(tenantId)
await pool?.end()
process.stdout.write(`${kek.id} ${createHash('sha256').update(seed).digest('hex')}`)
