/** Identities, trust and channels for tests of the communication between mpc processes. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { type Kek, parseKek } from '../../src/keys/kek.ts'
import { type Address, type Channel, openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { type Identity, openIdentity } from '../../src/keys/mpc/identity.ts'
import { publishCertificate } from '../../src/keys/mpc/trust.ts'
import { HANGS_AFTER_MS } from './within.ts'

export const freshKek = (): Kek => parseKek(randomBytes(32).toString('base64'))

export async function temporaryDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-mpc-'))
  // A party that was called a moment ago may still write its counts.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }))
  return directory
}

/** A new identity that no process trusts yet. */
export async function freshIdentity(t: Test, name: string): Promise<Identity> {
  const keystore = await openDirectoryKeystore(await temporaryDirectory(t))
  return openIdentity({ name, keystore, kek: freshKek() })
}

/** New identities that all trust each other, and their trust directory. */
export async function trustingIdentities(t: Test, names: readonly string[]) {
  const trustDir = await temporaryDirectory(t)
  const identities = new Map<string, Identity>()
  for (const name of names) {
    const identity = await freshIdentity(t, name)
    await publishCertificate(trustDir, identity)
    identities.set(name, identity)
  }
  const of = (name: string): Identity => {
    const identity = identities.get(name)
    if (identity === undefined) throw new Error(`no identity of ${name}`)
    return identity
  }
  return { trustDir, of }
}

export type LogLine = {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

/** A log that keeps its lines. */
export function listeningLog() {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ ...fields, level, message })
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error') } }
}

export type Heard = { readonly from: string; readonly frame: Buffer }
export type Opened = Channel & { readonly lines: LogLine[]; readonly heard: Heard[]; readonly gone: string[] }

/** A channel that is closed with the test, pings ten times a second, and keeps everything it receives. */
export async function openTestChannel(
  t: Test,
  options: Pick<Parameters<typeof openChannel>[0], 'identity' | 'trustDir'> &
    Partial<Parameters<typeof openChannel>[0]>,
): Promise<Opened> {
  const { lines, log } = listeningLog()
  const channel = await openChannel({
    listen: null,
    dials: new Map<string, Address>(),
    accepts: () => true,
    keepaliveMs: 100,
    log,
    ...options,
  })
  t.after(() => channel.close())
  const heard: Heard[] = []
  const gone: string[] = []
  channel.onFrame((from, frame) => void heard.push({ from, frame: Buffer.from(frame) }))
  channel.onGone((peer) => void gone.push(peer))
  return { ...channel, lines, heard, gone }
}

/** Waits until a condition holds, and ends a hanging test with what it waited for. */
export async function until(what: () => boolean, why: string): Promise<void> {
  const deadline = Date.now() + HANGS_AFTER_MS
  while (!what()) {
    if (Date.now() > deadline) throw new Error(`not in ${HANGS_AFTER_MS} ms: ${why}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
