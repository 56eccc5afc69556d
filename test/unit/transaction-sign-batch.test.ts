/** What a lane accepts from a signer: only bytes of its own address, whatever key the signer has. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { NonceClaimed, type Signer } from '../../src/keys/signer.ts'
import { signBatch, signUnder } from '../../src/transactions/sign-and-record.ts'
import { matchExactly } from '../support/match-exactly.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const LANE = { chainId: 1, address: ADDRESS }
const ITEM = {
  loaded: { id: 'tx_1' },
  wallet: {
    walletId: 'wal_1',
    tenantId: 'acme',
    type: 'hd',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1,
    address: ADDRESS,
    key: { kind: 'hd', tenantId: 'acme', index: 0 },
  },
  call: { to: OTHER, value: 1n, data: '0x' },
  fees: { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
} as const

async function sentBy(sender: string | null) {
  const refused: string[][] = []
  const signed = await signUnder(
    {
      signer: { signTransactions: async () => [{ hash: '0x1', rawTransaction: '0x02', sender }] },
      clock: () => 0,
      onRefused: (id, reason) => refused.push([id, reason]),
    },
    LANE,
    [ITEM],
    [7],
  )
  return { nonces: signed.map(({ bytes }) => bytes.nonce), refused }
}

t.test('bytes signed by another address, or by none, are neither recorded nor sent', async (t) => {
  t.strictSame(await sentBy(ADDRESS.toLowerCase()), { nonces: [7], refused: [] })
  matchExactly(t, await sentBy(OTHER), {
    nonces: [],
    refused: [['tx_1', /check that this is the keystore that created the wallet/]],
  })
  matchExactly(t, await sentBy(null), { nonces: [], refused: [['tx_1', /bytes of another transaction/]] })
})

/** A signer that signed some before, and that signs nothing else with their nonces. */
function boundSigner(claimed: Readonly<Record<string, number>>) {
  const asked: string[][] = []
  const signTransactions: Signer['signTransactions'] = async (requests) => {
    const wanted = requests.map(({ intent: { id }, transaction: { nonce } }) => [id, nonce] as const)
    asked.push(wanted.map(([id, nonce]) => `${id} ${nonce}`))
    const [[first, nonce] = ['', 0]] = wanted
    const holder = Object.keys(claimed).find((id) => claimed[id] === nonce && id !== first)
    if (claimed[first] !== undefined && claimed[first] !== nonce) throw new NonceClaimed(first, claimed[first])
    if (holder !== undefined) throw new NonceClaimed(holder, nonce)
    return requests.map(() => ({ hash: '0x1', rawTransaction: '0x02', sender: ADDRESS }))
  }
  const ports = { signer: { signTransactions }, clock: () => 0, onRefused: () => undefined }
  const ready = ['tx_1', 'tx_2', 'tx_3'].map((id) => ({ ...ITEM, loaded: { id } }))
  return { asked, sign: () => signBatch(ports, LANE, ready, [5, 6, 7]) }
}

t.test('what was signed with a nonce and not recorded gets it, before others that wait now as well', async (t) => {
  const { sign } = boundSigner({ tx_2: 5 })
  t.strictSame(
    (await sign()).map(({ item, bytes }) => [item.loaded.id, bytes.nonce]),
    [
      ['tx_2', 5],
      ['tx_1', 6],
      ['tx_3', 7],
    ],
  )
  const first = boundSigner({ tx_1: 6 })
  t.strictSame(
    (await first.sign()).map(({ bytes }) => bytes.nonce),
    [6, 5, 7],
  )
})

t.test('all that is known to be bound gets its nonce at once, and the others what is left', async (t) => {
  let asked = 0
  const bound = new Map([
    ['tx_2', 5],
    ['tx_3', 6],
    ['tx_4', 7],
  ])
  const ports = {
    clock: () => 0,
    onRefused: () => undefined,
    signer: {
      async signTransactions(requests: Parameters<Signer['signTransactions']>[0]) {
        asked += 1
        const isOwn = requests.every(({ intent, transaction: { nonce } }) => (bound.get(intent.id) ?? 8) === nonce)
        if (!isOwn) throw new NonceClaimed('tx_2', 5, bound)
        return requests.map(() => ({ hash: '0x1', rawTransaction: '0x02', sender: ADDRESS }))
      },
    },
  }
  const ready = ['tx_1', 'tx_2', 'tx_3', 'tx_4'].map((id) => ({ ...ITEM, loaded: { id } }))
  const signed = await signBatch(ports, LANE, ready, [5, 6, 7, 8])
  t.strictSame(
    signed.map(({ item, bytes }) => [item.loaded.id, bytes.nonce]),
    [
      ['tx_2', 5],
      ['tx_3', 6],
      ['tx_4', 7],
      ['tx_1', 8],
    ],
  )
  t.equal(asked, 2)
})

t.test('parties that bind several transactions to one nonce are not asked for ever', async (t) => {
  const { sign, asked } = boundSigner({ tx_2: 5, tx_3: 5 })
  await t.rejects(sign(), { code: 'nonce_claimed' })
  t.ok(asked.length <= 8, `${asked.length}`)
})

t.test('what parties bound to a nonce that is not free any more does not stop what waits behind it', async (t) => {
  const ports = {
    clock: () => 0,
    onRefused: () => undefined,
    signer: {
      async signTransactions(requests: Parameters<Signer['signTransactions']>[0]) {
        const [first] = requests
        if (first?.intent.id === 'tx_1' && first.transaction.nonce !== 4) throw new NonceClaimed('tx_1', 4)
        if (first?.transaction.nonce === 4) throw new NonceClaimed('tx_0', 4)
        return requests.map(() => ({ hash: '0x1', rawTransaction: '0x02', sender: ADDRESS }))
      },
    },
  }
  const ready = ['tx_1', 'tx_2', 'tx_3'].map((id) => ({ ...ITEM, loaded: { id } }))
  const left: string[] = []
  const signed = await signBatch(ports, LANE, ready, [5, 6, 7], ({ loaded }) => void left.push(loaded.id))
  t.strictSame(left, ['tx_1'])
  t.strictSame(
    signed.map(({ item, bytes }) => [item.loaded.id, bytes.nonce]),
    [
      ['tx_2', 5],
      ['tx_3', 6],
    ],
  )
  await t.rejects(signBatch(ports, LANE, ready.slice(0, 1), [5]), { code: 'nonce_claimed' })
})

t.test('parties that refuse everything are not asked for each of a batch', async (t) => {
  let asked = 0
  const ports = {
    clock: () => 0,
    onRefused: () => undefined,
    signer: {
      async signTransactions(): Promise<never> {
        asked += 1
        throw new Unavailable('mpc_refused', `of ${asked}`)
      },
    },
  }
  const ready = Array.from({ length: 32 }, (_, n) => ({ ...ITEM, loaded: { id: `tx_${n}` } }))
  const nonces = ready.map((_, n) => n)
  await t.rejects(signBatch(ports, LANE, ready, nonces), { code: 'mpc_refused', message: 'of 1' })
  t.ok(asked <= 4, `${asked}`)
})
