/** A disk that can be filled: a small in-memory file system, if this user may mount one. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

export type SmallDisk = {
  readonly directory: string
  readonly fill: () => Promise<void>
  readonly empty: () => Promise<void>
}

/** @returns undefined when mounting is not allowed: the test then reports that it was skipped */
export async function mountSmallDisk(t: Test, megabytes: number): Promise<SmallDisk | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-small-disk-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  t.after(() => execFileSync('umount', ['-l', directory]))
  const filler = join(directory, 'filler')
  return {
    directory,
    async fill() {
      const { bavail, bsize } = await statfs(directory)
      await writeFile(filler, Buffer.alloc(bavail * bsize))
    },
    empty: () => rm(filler, { force: true }),
  }
}
