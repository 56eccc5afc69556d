// Removes what nothing loads from the installed packages: Prisma's query compilers for databases other than PostgreSQL
// (70 MB) and source maps (50 MB). Part of each build, as packages are installed without running any script.

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const SOURCE_MAP = /\.([cm]?[jt]s|css)\.map$/
const OTHER_COMPILER = /^query_compiler_.*\.(cockroachdb|mysql|sqlite|sqlserver)\./

/** @param {string} root the project's folder */
export function trimPackages(root) {
  const packages = join(root, 'node_modules')
  for (const folder of ['@prisma/client/runtime', 'prisma/build'])
    for (const name of readdirSync(join(packages, folder)))
      if (OTHER_COMPILER.test(name)) rmSync(join(packages, folder, name), { force: true })
  for (const path of readdirSync(packages, { recursive: true, encoding: 'utf8' }))
    if (SOURCE_MAP.test(path)) rmSync(join(packages, path), { force: true })
}
