/** Three parties in separate processes and a coordinator in this one, over real channels, without log and API. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { eip1559Digest } from '../../src/keys/eip1559.ts'
import { parseKek } from '../../src/keys/kek.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { type Address, openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { createCoordinator } from '../../src/keys/mpc/coordinator.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { COORDINATOR, partyName } from '../../src/keys/mpc/party-names.ts'
import { createRunCeremonies } from '../../src/keys/mpc/run-ceremonies.ts'
import { createSignJointly, type JointSignature } from '../../src/keys/mpc/sign-jointly.ts'
import { publishCertificate } from '../../src/keys/mpc/trust.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import type { PartyCost, PartyPlace } from './mpc-party.ts'
import { RECIPIENT } from './subject.ts'

const TIMEOUT_MS = 300_000
const PARTIES = [1, 2, 3] as const
const THRESHOLD = 2

export type MpcStage = {
  /** Creates a key that can sign immediately. */
  readonly generate: () => Promise<JointKey>
  /** Signs this many new transactions of a key in one call. */
  readonly sign: (key: JointKey, count: number) => Promise<void>
  /** Per party since the last call: CPU time, and the bytes of each frame sent to another party. */
  readonly costs: () => Promise<readonly PartyCost[]>
  readonly close: () => Promise<void>
}

export async function openMpcStage(): Promise<MpcStage> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-bench-mpc-'))
  const trustDir = join(directory, 'trust')
  const addresses: [number, Address][] = []
  for (const party of PARTIES) addresses.push([party, { host: '127.0.0.1', port: await freePort() }])
  const parties = await Promise.all(
    PARTIES.map((me) => startParty({ me, directory: join(directory, `${me}`), trustDir, addresses })),
  )
  const channel = await openCoordinatorChannel(join(directory, 'coordinator'), trustDir, addresses)
  while (channel.connected().length < PARTIES.length) await sleep(20)
  const coordinator = createCoordinator({ channel })
  const keys = new Map<string, JointKey>()
  const onAccused = async () => undefined
  const { generateKey } = createRunCeremonies({ coordinator, onAccused, timeoutMs: TIMEOUT_MS })
  const signJointly = createSignJointly({
    coordinator,
    jointKeysOf: async (ids) => new Map([...keys].filter(([id]) => ids.includes(id))),
    onAccused,
    onWorn: async () => undefined,
    onRefused: (_, party, { reason }) => process.stderr.write(`party ${party} refuses: ${reason}\n`),
    timeoutMs: TIMEOUT_MS,
    now: Date.now,
  })
  let made = 0
  let before = await Promise.all(parties.map(costOf))

  return {
    async generate() {
      made += 1
      const terms = { keyId: `key_${made}`, threshold: THRESHOLD, parties: PARTIES }
      const key: JointKey = {
        ...terms,
        ...(await generateKey(terms)),
        epoch: 0,
        refreshId: null,
        banned: [],
        apart: [],
      }
      keys.set(key.keyId, key)
      for (const party of parties) party.send({ key })
      return key
    },
    async sign({ keyId }, count) {
      const items = Array.from({ length: count }, (): JointSignature => {
        made += 1
        const transaction = { ...TRANSACTION, nonce: made }
        const intent = { kind: 'transaction' as const, id: `tx_${made}` }
        return { keyId, intent, subject: { kind: 'transaction', transaction }, digest: eip1559Digest(transaction) }
      })
      for (let done = 0; done < count; ) done += (await signJointly(items.slice(done))).length
    },
    async costs() {
      const now = await Promise.all(parties.map(costOf))
      const since = now.map(({ cpuMs, sent }, index) => ({ cpuMs: cpuMs - (before[index]?.cpuMs ?? 0), sent }))
      before = now
      return since
    },
    async close() {
      await channel.close()
      for (const party of parties) party.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const TRANSACTION: UnsignedTransaction = {
  chainId: 1,
  nonce: 0,
  to: RECIPIENT,
  value: 1n,
  data: '0x',
  gasLimit: 21_000n,
  maxFeePerGas: 10n ** 11n,
  maxPriorityFeePerGas: 10n ** 9n,
}

async function startParty(place: PartyPlace): Promise<ChildProcess> {
  const entry = fileURLToPath(new URL('mpc-party.ts', import.meta.url))
  const party = fork(entry, [JSON.stringify(place)], { execArgv: ['--import', 'tsx'] })
  await once(party, 'message')
  return party
}

async function costOf(party: ChildProcess): Promise<PartyCost> {
  party.send('cost')
  const [cost] = (await once(party, 'message')) as [PartyCost]
  return cost
}

async function openCoordinatorChannel(
  directory: string,
  trustDir: string,
  addresses: readonly (readonly [number, Address])[],
) {
  const kek = parseKek(randomBytes(32).toString('base64'))
  const identity = await openIdentity({ name: COORDINATOR, keystore: await openDirectoryKeystore(directory), kek })
  await publishCertificate(trustDir, identity)
  return openChannel({
    identity,
    trustDir,
    listen: null,
    dials: new Map(addresses.map(([party, address]) => [partyName(party), address])),
    accepts: () => false,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  })
}
