/**
 * A party as in production, with channels, shares, journal and engine threads, but without the log: it trusts its
 * parent. Counts the bytes of its frames by kind and receiver.
 */
import { randomBytes } from 'node:crypto'
import { COVERED } from '../../src/keys/coverage.ts'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { parseKek } from '../../src/keys/kek.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { type Address, type Channel, openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { openCheckCounts } from '../../src/keys/mpc/check-counts.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { createLoadedShares } from '../../src/keys/mpc/loaded-shares.ts'
import { createParty } from '../../src/keys/mpc/party.ts'
import { openPartyBans } from '../../src/keys/mpc/party-bans.ts'
import { createPartyCeremonies } from '../../src/keys/mpc/party-ceremonies.ts'
import { COORDINATOR, partyName } from '../../src/keys/mpc/party-names.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { createSigningGuard } from '../../src/keys/mpc/signing-guard.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { publishCertificate } from '../../src/keys/mpc/trust.ts'

export type PartyPlace = {
  readonly me: number
  readonly directory: string
  readonly trustDir: string
  readonly addresses: readonly (readonly [party: number, address: Address])[]
}
/** Totals so far. `sent` has the bytes of frames to other parties, in send order. */
export type PartyCost = { readonly cpuMs: number; readonly sent: readonly number[] }

/** Threads run the build: Node 20 does not pass a TypeScript loader to them. */
const BUILT_THREAD = new URL('../../dist/src/keys/mpc/engine-thread.js', import.meta.url).href
const { createEngineThread } = (await import(BUILT_THREAD)) as typeof import('../../src/keys/mpc/engine-thread.ts')

const { me, directory, trustDir, addresses } = JSON.parse(process.argv[2] ?? '') as PartyPlace
const keys = new Map<string, JointKey>()
let sent: number[] = []

function counting(channel: Channel): Channel {
  return {
    ...channel,
    send(to, frame) {
      if (!to.startsWith(COORDINATOR)) sent.push(frame.length)
      channel.send(to, frame)
    },
  }
}

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const kek = parseKek(randomBytes(32).toString('base64'))
const identity = await openIdentity({ name: partyName(me), keystore: await openDirectoryKeystore(directory), kek })
await publishCertificate(trustDir, identity)
const channel = await openChannel({
  identity,
  trustDir,
  listen: new Map(addresses).get(me) ?? null,
  dials: new Map(addresses.filter(([party]) => party > me).map(([party, address]) => [partyName(party), address])),
  accepts: () => true,
  shared: (name) => name === COORDINATOR,
  log,
})
const [engine, ceremonies] = [createEngineThread(), createEngineThread()]
const store = await openShareStore({ directory, party: me, kek })
const jointKeysOf = async (ids: readonly string[]) => new Map([...keys].filter(([id]) => ids.includes(id)))
const bans = await openPartyBans(`${directory}/bans`)
createParty({
  me,
  channel: counting(channel),
  signing: {
    me,
    engine,
    shares: createLoadedShares({ me, engine, store }),
    journal: await openSigningJournal({ directory, requireOwner: async () => undefined, log }),
    bans,
    guard: createSigningGuard({ bans, counts: await openCheckCounts(`${directory}/checks`, () => true) }),
    jointKeysOf,
    coverageOf: async (asked) => asked.map(() => COVERED),
    endedOf: async () => [],
    unknownOf: async () => [],
    onNotCovered: () => undefined,
  },
  ceremonies: createPartyCeremonies({ me, engine: ceremonies, store, bans, jointKeysOf, covers: async () => COVERED }),
  settle: async () => undefined,
  heldByAll: { receive: async () => undefined },
  roundMs: { signing: 60_000, ceremonies: 120_000 },
  observe: {
    onSession: () => undefined,
    onRefusedMessage: () => undefined,
    onFailure: (error) => process.stderr.write(`party ${me}: ${String(error)}\n`),
  },
})

function cost(): PartyCost {
  const { user, system } = process.cpuUsage()
  const frames = sent
  sent = []
  return { cpuMs: (user + system) / 1_000, sent: frames }
}

process.on('message', (message: { readonly key: JointKey } | 'cost') => {
  if (message === 'cost') process.send?.(cost())
  else keys.set(message.key.keyId, message.key)
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
