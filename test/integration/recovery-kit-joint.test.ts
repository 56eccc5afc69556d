/** The kit of mpc wallets: a part for each party, which can sign together and not alone, before and after a refresh. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Transaction } from 'ethers'
import t, { type Test } from 'tap'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { shareFacts } from '../../src/keys/mpc/sign-together.ts'
import { type BackUpRequest, backUp as makeKit } from '../../src/recovery/kit/back-up.ts'
import { kitSigner } from '../../src/recovery/kit/kit-signature.ts'
import { describeWallet } from '../../src/recovery/kit/list-wallets.ts'
import type { KitSources, SourceWallet } from '../../src/recovery/kit/sources.ts'
import type { CliRun } from '../support/cli.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { refreshShares } from '../support/joint-key.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { freshKek } from '../support/mpc-processes.ts'
import { makeIdentity, OFFLINE, runRecovery, scratch } from '../support/recovery.ts'

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const NOW = '2026-11-21T12:00:00.000Z'

const SHARES = goldenShares(2, 3)
const REFRESHED = refreshShares(SHARES)
const { address: ADDRESS, publicKey } = shareFacts(SHARES[0] ?? new Uint8Array())
const KEY: JointKey = {
  keyId: 'mpk_1',
  address: ADDRESS,
  publicKey: `0x${Buffer.from(publicKey).toString('hex')}`,
  threshold: 2,
  parties: [1, 2, 3],
  epoch: 0,
  refreshId: null,
  banned: [],
  apart: [],
}
const WALLET: SourceWallet = {
  walletId: 'wal_1',
  tenantId: 'acme',
  network: 'ethereum',
  environment: 'mainnet',
  chainId: 1,
  address: ADDRESS,
  label: 'Treasury 🏦',
  status: 'active',
  key: { kind: 'mpc', keyId: 'mpk_1' },
}

/** The sources on each party's machine: its own store and the database. */
function sources(shares: readonly Uint8Array[], key: JointKey, parties: readonly number[]): KitSources {
  return {
    wallets: async () => [WALLET],
    jointKeys: async () => [key],
    seeds: null,
    // A copy, as a store returns it: the caller wipes a loaded share.
    parties: parties.map((party) => ({ party, load: async () => shares[party - 1]?.slice() })),
    signer: kitSigner(freshKek()),
  }
}

type Holder = { readonly kit: string; readonly file: string }

/** Three holders, each with its own identity and directory, as on three machines. */
async function withHolders(t: Test, shares = SHARES, key = KEY) {
  const directory = await scratch(t)
  const make = async (party: number, of = shares, at = key): Promise<Holder> => {
    const home = join(directory, `${party}-${at.epoch}`)
    await mkdir(home)
    const { file, recipient } = await makeIdentity(home, 'identity.txt')
    const kit = join(home, 'kit')
    const request = { out: kit, recipients: [recipient], parts: null, tenant: null, force: false, signedBy: [] }
    await makeKit(sources(of, at, [party]), () => NOW, request)
    return { kit, file }
  }
  const [one, two, three] = [await make(1), await make(2), await make(3)]
  return { directory, make, one, two, three }
}

const places = (holders: readonly Holder[]) => holders.flatMap(({ kit, file }) => ['--kit', kit, '--identity', file])
const verify = (...holders: Holder[]): Promise<CliRun> => runRecovery(OFFLINE, ['verify', ...places(holders)])

t.test('a kit of the first version is readable', async (t) => {
  const kit = fileURLToPath(new URL('../golden/kit/', import.meta.url))
  const ran = await verify({ kit, file: join(kit, 'identity.txt') })
  t.match(ran, {
    code: 0,
    err: '',
    out: /hd +polygon testnet +ok +hd\n.*mpc +ethereum mainnet +ok +party-1 party-2\n.*NOT PROVED: .*kit\.json is not signed, as kits of earlier versions/s,
  })
})

t.test('any two holders restore the wallet, one alone does not', async (t) => {
  const { one, two, three } = await withHolders(t)
  for (const pair of [
    [one, two],
    [one, three],
    [two, three],
  ])
    t.match(await verify(...pair), { code: 0, out: new RegExp(`${ADDRESS} +mpc +ethereum mainnet +ok +party-`) })
  t.match(await verify(one, two, three), { code: 0, out: /ok +party-1 party-2 party-3/ })
  const alone = await verify(two)
  t.match(alone, {
    code: 1,
    out: /FAILED.*2 shares of one epoch are needed, but the opened parts have party-2 \(epoch 0\)/,
  })
  const closed = await runRecovery(OFFLINE, ['verify', ...places([one]), '--kit', two.kit])
  t.match(closed, {
    code: 1,
    out: /FAILED.*party-2\.age: none of the given identities can open it: it is encrypted to age1/,
  })
})

t.test('two holders sign what moves the funds, with no server and no whole key', async (t) => {
  const { one, three } = await withHolders(t)
  const what = [
    '--wallet',
    ADDRESS,
    '--to',
    TO,
    '--value',
    '5',
    '--chain-id',
    '1',
    '--nonce',
    '3',
    '--gas-limit',
    '21000',
  ]
  const fees = ['--max-fee-per-gas', '9', '--max-priority-fee-per-gas', '1', '--json']
  const swept = await runRecovery(OFFLINE, ['sweep', ...places([one, three]), ...what, ...fees])
  t.equal(swept.code, 0, swept.err)
  t.match(Transaction.from(JSON.parse(swept.out).raw_transaction), { from: ADDRESS, to: TO, value: 5n, nonce: 3 })
  const alone = await runRecovery(OFFLINE, ['sweep', ...places([one]), ...what, ...fees])
  t.match(alone, { code: 1, out: '', err: /2 shares of one epoch are needed/ })
})

t.test(
  'parts of different epochs do not sign together, and a whole kit from before a refresh still does',
  async (t) => {
    const key = { ...KEY, epoch: 1, refreshId: 'rfr_1' }
    const { one, two, make } = await withHolders(t)
    const [newer, newest] = [await make(2, REFRESHED, key), await make(3, REFRESHED, key)]
    const mixed = await verify(one, newer)
    t.match(mixed, {
      code: 1,
      out: /2 shares of one epoch are needed, but the opened parts have party-1 \(epoch 0\), party-2 \(epoch 1\)/,
    })
    t.match(await verify(one, newer, newest), {
      code: 0,
      out: /not used, because the others are of epoch 1: party-1 \(epoch 0\)/,
    })
    const now = async () => [describeWallet(WALLET, new Map([['mpk_1', key]]))]
    const args = ['verify', ...places([one, two]), '--against-database']
    const old = await runRecovery({ ...OFFLINE, currentWallets: now }, args)
    t.match(old, {
      code: 0,
      out: /ok.*of epoch 0, but the service is at epoch 1: newer parts do not fit, make a new kit/,
    })
  },
)

t.test('a kit with a share of a wrong epoch fails its verification', async (t) => {
  const { one, make } = await withHolders(t)
  const lying = await make(3, REFRESHED, { ...KEY, keyId: 'mpk_1' }).catch(() => null)
  t.equal(lying, null, 'a kit is not written into the directory of another one')
  const directory = await scratch(t)
  const { file, recipient } = await makeIdentity(directory, 'identity.txt')
  const kit = join(directory, 'kit')
  const request = { out: kit, recipients: [recipient], parts: null, tenant: null, force: false, signedBy: [] }
  await makeKit(sources(REFRESHED, KEY, [2]), () => NOW, request)
  t.match(await verify(one, { kit, file }), { code: 1, out: /FAILED.*its shares do not fit together/ })
})

t.test('a manifest names the wallets of its own parts, and reports those of other parts', async (t) => {
  const directory = await scratch(t)
  const { file, recipient } = await makeIdentity(directory, 'identity.txt')
  const hd: SourceWallet = {
    ...WALLET,
    walletId: 'wal_2',
    address: TO,
    key: { kind: 'hd', tenantId: 'acme', index: 0 },
  }
  const both = { ...sources(SHARES, KEY, [1, 2]), wallets: async () => [WALLET, hd] }
  const backUp = (request: BackUpRequest) => makeKit(both, () => NOW, request)
  const out = join(directory, 'kit')
  const ran = await runRecovery({ ...OFFLINE, backUp }, ['backup', '--out', out, '--recipient', recipient])
  t.match(ran, {
    code: 0,
    out: /wallets in kit\.json: 1\nNot in the kit yet: party-3\..*\nWallets whose keys are on other machines: 1\./,
  })
  t.match(ran.out, /These parts together can sign for the mpc wallets/)
  t.match(await verify({ kit: out, file }), { code: 0, out: /1 of 1 wallets can be restored/ })
})

t.test('parts in one directory are one kit, and a key without a wallet is in it too', async (t) => {
  const directory = await scratch(t)
  const { file, recipient } = await makeIdentity(directory, 'identity.txt')
  const out = join(directory, 'kit')
  const pooled = { ...sources(SHARES, KEY, [1, 2]), wallets: async () => [] }
  const backUp = (request: BackUpRequest) => makeKit(pooled, () => NOW, request)
  const request = { out, recipients: [recipient], parts: ['party-1'], tenant: null, force: false, signedBy: [] }
  await backUp(request)
  await t.rejects(backUp(request), { code: 'kit_refused' })
  matchExactly(t, await backUp({ ...request, parts: ['party-2'] }), {
    written: ['party-2'],
    parts: ['party-1', 'party-2'],
  })
  const what = [
    '--wallet',
    ADDRESS,
    '--to',
    TO,
    '--value',
    '5',
    '--chain-id',
    '1',
    '--nonce',
    '3',
    '--gas-limit',
    '21000',
  ]
  const fees = ['--max-fee-per-gas', '9', '--max-priority-fee-per-gas', '1', '--json']
  const swept = await runRecovery(OFFLINE, ['sweep', ...places([{ kit: out, file }]), ...what, ...fees])
  t.equal(Transaction.from(JSON.parse(swept.out).raw_transaction).from, ADDRESS, 'the key is swept without a wallet')
})

t.test(
  'the shares of a party are checked before they are sealed, and lost ones are left out and reported',
  async (t) => {
    const directory = await scratch(t)
    const { recipient } = await makeIdentity(directory, 'identity.txt')
    const request = {
      out: join(directory, 'kit'),
      recipients: [recipient],
      parts: null,
      tenant: null,
      force: false,
      signedBy: [],
    }
    const refused = (from: KitSources, message: RegExp) =>
      t.rejects(
        makeKit(from, () => NOW, request),
        { message },
      )
    await refused(sources([], KEY, [1]), /party-1 has no share to back up: the share is lost: recover it/)
    await refused(sources(SHARES.toReversed(), KEY, [1]), /belongs to another key or party/)
    await refused(sources(SHARES, { ...KEY, address: TO }, [1]), /belongs to another key or party/)
    await refused(sources([Buffer.from('no share')], KEY, [1]), /the stored file is not a share/)
    await refused(
      { ...sources(SHARES, KEY, [1]), jointKeys: async () => [] },
      /mpc key mpk_1 of wal_1 is not in the log/,
    )
    await refused(sources(SHARES, KEY, []), /This machine has neither a keystore nor the shares of an mpc party/)
    const many = Array.from({ length: 2_001 }, (_, n) => ({ ...KEY, keyId: `mpk_${n}` }))
    await refused({ ...sources(SHARES, KEY, [1]), jointKeys: async () => many }, /2001 shares.*for each --tenant/)
    const lost = { ...KEY, keyId: 'mpk_2' }
    const both: KitSources = {
      ...sources(SHARES, KEY, []),
      jointKeys: async () => [KEY, lost],
      parties: [{ party: 1, load: async ({ keyId }) => (keyId === 'mpk_1' ? SHARES[0]?.slice() : undefined) }],
    }
    const backUp = (request: BackUpRequest) => makeKit(both, () => NOW, request)
    const ran = await runRecovery({ ...OFFLINE, backUp }, ['backup', '--out', request.out, '--recipient', recipient])
    t.match(ran, { code: 1, out: /party-1 written.*NOT IN party-1: the share of 0x.*recover it/s })
  },
)
