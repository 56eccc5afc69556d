// Removes what nothing loads from the installed packages: Prisma's query compilers for databases other than PostgreSQL
// (70 MB) and source maps (50 MB). Run after an install, and in the image.

import { readdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../node_modules/', import.meta.url))
const SOURCE_MAP = /\.([cm]?[jt]s|css)\.map$/
const OTHER_COMPILER = /^query_compiler_.*\.(cockroachdb|mysql|sqlite|sqlserver)\./

for (const folder of ['@prisma/client/runtime', 'prisma/build'])
  for (const name of readdirSync(`${packages}${folder}`))
    if (OTHER_COMPILER.test(name)) rmSync(`${packages}${folder}/${name}`)

for (const path of readdirSync(packages, { recursive: true, encoding: 'utf8' }))
  if (SOURCE_MAP.test(path)) rmSync(`${packages}${path}`)
