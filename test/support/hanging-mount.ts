/** A directory that hangs: a FUSE file system whose server never answers, if this user may mount one. */
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The place of the device among the descriptors of the command `mount`. */
const DEVICE = 3

/** @returns undefined when mounting is not allowed: the test then reports that it was skipped */
export async function mountHanging(t: Test): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-hanging-'))
  let device: number | undefined
  try {
    device = openSync('/dev/fuse', 'r+')
    const options = `fd=${DEVICE},rootmode=40000,user_id=${process.getuid?.() ?? 0},group_id=${process.getgid?.() ?? 0}`
    const stdio = ['ignore' as const, 'ignore' as const, 'ignore' as const, device]
    const { status } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'hanging', directory], { stdio })
    if (status !== 0) throw new Error('not mounted')
  } catch {
    if (device !== undefined) closeSync(device)
    await rmdir(directory)
    return undefined
  }
  const open = device
  t.after(async () => {
    execFileSync('umount', ['-l', directory])
    closeSync(open)
    await rmdir(directory)
  })
  return directory
}
