/**
 * Three parties with real engines, channels, shares and bans, and a coordinator controlled by the test, without a log:
 * every request is covered. For tests of the messages between parties when corrupt ones collude with the coordinator.
 */
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { COVERED } from '../../src/keys/coverage.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { type Address, openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { openCheckCounts } from '../../src/keys/mpc/check-counts.ts'
import { type Coordinator, createCoordinator } from '../../src/keys/mpc/coordinator.ts'
import { createEngineThread } from '../../src/keys/mpc/engine-thread.ts'
import { createLoadedShares } from '../../src/keys/mpc/loaded-shares.ts'
import { createParty } from '../../src/keys/mpc/party.ts'
import { openPartyBans } from '../../src/keys/mpc/party-bans.ts'
import { createPartyCeremonies } from '../../src/keys/mpc/party-ceremonies.ts'
import { COORDINATOR, partyName } from '../../src/keys/mpc/party-names.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { shareFacts } from '../../src/keys/mpc/sign-together.ts'
import { createSigningGuard } from '../../src/keys/mpc/signing-guard.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { goldenShares } from './golden-shares.ts'
import { freshKek, listeningLog, temporaryDirectory, trustingIdentities } from './mpc-processes.ts'
import { eventually } from './sandbox-eventually.ts'

const PARTIES = [1, 2, 3] as const

export type MpcTable = {
  readonly coordinator: Coordinator
  /** Each with the same shares: different keys to every rule, the same key to the protocol. */
  readonly keyIds: readonly string[]
  readonly directoryOf: (party: number) => string
}

/** Everything requested is covered: these parties read no log. */
const ALL_IS_COVERED = {
  coverageOf: async (asked: readonly unknown[]) => asked.map(() => COVERED),
  endedOf: async () => [],
  unknownOf: async () => [],
  onNotCovered: () => undefined,
}

/** @param connect the channel of a party that is observed or corrupt */
export async function withMpcTable(
  t: Test,
  { keys: count, connect }: { readonly keys: number; readonly connect: ReadonlyMap<number, typeof openChannel> },
): Promise<MpcTable> {
  const { trustDir, of: identityOf } = await trustingIdentities(t, [COORDINATOR, ...PARTIES.map(partyName)])
  const directory = await temporaryDirectory(t)
  const directoryOf = (party: number) => join(directory, `${party}`)
  const addresses = new Map<number, Address>()
  for (const party of PARTIES) addresses.set(party, { host: '127.0.0.1', port: await freePort() })
  const golden = goldenShares(2, 3)
  const keys = keysOf(golden[0] as Uint8Array, count)
  const jointKeysOf = async (ids: readonly string[]) => new Map([...keys].filter(([id]) => ids.includes(id)))
  const { log } = listeningLog()

  async function start(me: number): Promise<void> {
    const own = directoryOf(me)
    await mkdir(own, { recursive: true })
    const store = await openShareStore({ directory: own, party: me, kek: freshKek() })
    for (const { keyId, threshold, address, publicKey } of keys.values()) {
      const facts = { threshold, parties: PARTIES.length, address, publicKey }
      await store.prepare(keyId, 'generated', Uint8Array.from(golden[me - 1] as Uint8Array), facts)
    }
    const larger = [...addresses].filter(([party]) => party > me)
    const channel = await (connect.get(me) ?? openChannel)({
      identity: identityOf(partyName(me)),
      trustDir,
      listen: addresses.get(me) ?? null,
      dials: new Map(larger.map(([party, address]) => [partyName(party), address])),
      accepts: () => true,
      shared: (name) => name === COORDINATOR,
      log,
    })
    const [engine, ceremonies] = [createEngineThread(), createEngineThread()]
    const bans = await openPartyBans(join(own, 'bans'))
    const journal = await openSigningJournal({ directory: own, requireOwner: async () => undefined, log })
    const guard = createSigningGuard({ bans, counts: await openCheckCounts(join(own, 'checks'), () => true) })
    const shares = createLoadedShares({ me, engine, store })
    const party = createParty({
      me,
      channel,
      signing: { me, engine, shares, journal, bans, guard, jointKeysOf, ...ALL_IS_COVERED },
      ceremonies: createPartyCeremonies({
        me,
        engine: ceremonies,
        store,
        bans,
        jointKeysOf,
        covers: async () => COVERED,
      }),
      settle: async () => undefined,
      heldByAll: { receive: async () => undefined },
      roundMs: { signing: 60_000, ceremonies: 60_000 },
      observe: {
        onSession: () => undefined,
        onRefusedMessage: () => undefined,
        onFailure: (error, ceremony) => t.fail(`party ${me}, ${ceremony}: ${String(error)}`),
      },
    })
    t.after(async () => {
      await party.drain()
      await channel.close()
      await Promise.all([engine.close(), ceremonies.close(), journal.close()])
    })
  }

  for (const party of PARTIES) await start(party)
  const channel = await openChannel({
    identity: identityOf(COORDINATOR),
    trustDir,
    listen: null,
    dials: new Map([...addresses].map(([party, address]) => [partyName(party), address])),
    accepts: () => false,
    log,
  })
  t.after(() => channel.close())
  await eventually(() => channel.connected().length === PARTIES.length)
  return { coordinator: createCoordinator({ channel }), keyIds: [...keys.keys()], directoryOf }
}

function keysOf(share: Uint8Array, count: number): ReadonlyMap<string, JointKey> {
  const { threshold, address, publicKey: bytes } = shareFacts(share)
  const publicKey = `0x${Buffer.from(bytes).toString('hex')}`
  return new Map(
    Array.from({ length: count }, () => {
      const keyId = `mpk_${randomBytes(8).toString('hex')}`
      const terms = { keyId, threshold, parties: PARTIES, epoch: 0, refreshId: null, banned: [], apart: [] }
      return [keyId, { ...terms, address, publicKey }]
    }),
  )
}
