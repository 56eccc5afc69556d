import { Transaction, Wallet } from 'ethers'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { consumerIn } from '../../src/transactions/find-consumer.ts'
import { oneNode } from '../support/one-node.ts'

const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const STRANGER = new Wallet(`0x${'22'.repeat(32)}`)
const ACCOUNT = { chainId: 1000001, address: KEY.address, nonce: 5 }
const BLOCK = `0x${'ab'.repeat(32)}`
const FIELDS = { chainId: 1000001, nonce: 5, to: STRANGER.address, value: 7n, gasLimit: 21_000n, type: 2 }

/** As a node shows it. */
async function shown(signer: Wallet, fields: Partial<typeof FIELDS> = {}) {
  const signed = Transaction.from(
    await signer.signTransaction({ ...FIELDS, maxFeePerGas: 3n, maxPriorityFeePerGas: 1n, ...fields }),
  )
  const { hash, from, to, signature } = signed
  return {
    ...{ hash, from, to, type: '0x2', accessList: [], input: '0x' },
    nonce: toQuantity(BigInt(signed.nonce)),
    gas: toQuantity(signed.gasLimit),
    value: toQuantity(signed.value),
    maxFeePerGas: toQuantity(3n),
    maxPriorityFeePerGas: toQuantity(1n),
    chainId: toQuantity(signed.chainId),
    r: signature?.r,
    s: signature?.s,
    yParity: toQuantity(BigInt(signature?.yParity ?? 0)),
  }
}

function find(...transactions: readonly object[]) {
  const value = { number: '0x9', hash: BLOCK, parentHash: BLOCK, timestamp: '0x65', transactions }
  return consumerIn(oneNode({ batch: async () => [{ ok: true, value }] }), ACCOUNT, 9)
}

t.test('a transaction with the signature of the account is what used its nonce', async (t) => {
  const own = await shown(KEY)
  t.match(await find(await shown(STRANGER), own), { kind: 'transaction', hash: own.hash, value: 7n })
  t.equal(await find(await shown(KEY, { nonce: 6 })), null, 'another nonce')
})

t.test('call data that a node leaves out is empty, as the hash of the transaction says', async (t) => {
  const own = await shown(KEY)
  for (const input of [undefined, null]) t.match(await find({ ...own, input }), { hash: own.hash, input: '0x' })
})

t.test('no way to write the fields of a transaction hides it', async (t) => {
  const own = await shown(KEY)
  const r = BigInt(String(own.r)).toString(16)
  const written = {
    'letters of an address in any case': {
      to: `0x${STRANGER.address.slice(2, 20).toUpperCase()}${STRANGER.address.slice(20).toLowerCase()}`,
    },
    'no parity but v': { yParity: null, v: own.yParity },
    'a signature with leading zeros': { r: `0x${r.padStart(80, '0')}` },
    'a list that is missing': { accessList: null },
  }
  for (const [name, fields] of Object.entries(written))
    t.match(await find({ ...own, ...fields }), { hash: own.hash }, name)
})

t.test('an authorization counts only in a transaction whose hash has it', async (t) => {
  const { chainId, address, nonce, signature } = KEY.authorizeSync({ ...ACCOUNT, address: STRANGER.address })
  const authorizationList = [
    {
      ...{ chainId: toQuantity(chainId), address, nonce: toQuantity(nonce) },
      ...{ r: signature.r, s: signature.s, yParity: toQuantity(signature.yParity) },
    },
  ]
  const carrier = await shown(STRANGER)
  t.equal(await find({ ...carrier, authorizationList }), null, 'added to another type')
  t.match(await find({ ...carrier, type: '0x4', authorizationList }), { kind: 'authorization' })
})

t.test('a node cannot make one: names, hashes and fields that nobody signed do not count', async (t) => {
  const own = await shown(KEY)
  const forged = {
    'the name of the account over a signature of a stranger': { ...(await shown(STRANGER)), from: KEY.address },
    'other fields under the signature': { ...own, value: '0x8' },
    'another nonce under the signature': { ...(await shown(KEY, { nonce: 6 })), nonce: '0x5' },
    'another chain': await shown(KEY, { chainId: 5 }),
    'another hash': { ...own, hash: `0x${'cd'.repeat(32)}` },
    'no signature': { ...own, r: undefined, s: undefined },
  }
  for (const [name, transaction] of Object.entries(forged)) t.equal(await find(transaction), null, name)
})
