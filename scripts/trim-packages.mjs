// Removes Prisma's query compilers for databases other than PostgreSQL from the installed packages: 70 MB that nothing
// loads. Run after an install, and in the image.

import { readdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../node_modules/', import.meta.url))
const OTHER_COMPILER = /^query_compiler_.*\.(cockroachdb|mysql|sqlite|sqlserver)\./

for (const folder of ['@prisma/client/runtime', 'prisma/build'])
  for (const name of readdirSync(`${packages}${folder}`))
    if (OTHER_COMPILER.test(name)) rmSync(`${packages}${folder}/${name}`)
