/** A node cannot pass off other fields, or another type, as a transaction: its hash and sender are computed. */
import { Transaction, Wallet } from 'ethers'
import t from 'tap'
import { isTransaction } from '../../src/keys/is-transaction.ts'

const key = new Wallet(`0x${'11'.repeat(32)}`)
const CALL = { chainId: 1, nonce: 3, to: `0x${'22'.repeat(20)}`, value: 5n, gasLimit: 21_000n, data: '0x' }
const DYNAMIC = { maxFeePerGas: 9n, maxPriorityFeePerGas: 2n }
const authorization = key.authorizeSync({ address: CALL.to, nonce: 4, chainId: 1 })
const SENT = {
  'legacy without chain id': { ...CALL, type: 0, chainId: 0, gasPrice: 7n },
  legacy: { ...CALL, type: 0, gasPrice: 7n },
  'access list': { ...CALL, type: 1, gasPrice: 7n, accessList: [{ address: CALL.to, storageKeys: [] }] },
  'dynamic fee': { ...CALL, ...DYNAMIC, type: 2 },
  'creation of a contract': { ...CALL, ...DYNAMIC, type: 2, to: null, data: '0x6000' },
  'set code': { ...CALL, ...DYNAMIC, type: 4, authorizationList: [authorization] },
}
const hex = (value: bigint | number | null | undefined) => (value == null ? undefined : `0x${value.toString(16)}`)

/** As a node returns it. */
function rawOf(signed: Transaction): Record<string, unknown> {
  const { signature, authorizationList } = signed
  const isLegacy = signed.type === 0
  return {
    type: hex(signed.type),
    nonce: hex(signed.nonce),
    to: signed.to,
    value: hex(signed.value),
    gas: hex(signed.gasLimit),
    input: signed.data,
    gasPrice: hex(signed.gasPrice ?? signed.maxFeePerGas),
    ...(isLegacy
      ? {}
      : { maxFeePerGas: hex(signed.maxFeePerGas), maxPriorityFeePerGas: hex(signed.maxPriorityFeePerGas) }),
    ...(isLegacy ? {} : { accessList: signed.accessList, yParity: hex(signature?.yParity) }),
    ...(authorizationList === null
      ? {}
      : {
          authorizationList: authorizationList.map(({ address, nonce, chainId, signature: { r, s, yParity } }) => ({
            ...{ address, nonce: hex(nonce), chainId: hex(chainId), r, s, yParity: hex(yParity) },
          })),
        }),
    r: signature?.r,
    s: signature?.s,
    v: isLegacy
      ? hex(signature?.legacyChainId === null ? signature.v : (signature?.networkV ?? 0n))
      : hex(signature?.yParity),
  }
}

for (const [name, fields] of Object.entries(SENT)) {
  t.test(`${name}: the right fields are proven, and no other ones`, async (t) => {
    const signed = Transaction.from(await key.signTransaction(fields))
    const wanted = { hash: signed.hash ?? '', from: key.address, chainId: 1 }
    const raw = rawOf(signed)
    t.ok(isTransaction(raw, wanted))
    for (const wrong of [
      { ...raw, value: '0x6' },
      { ...raw, nonce: '0x4' },
      { ...raw, type: raw.type === '0x1' ? '0x0' : '0x1' },
      { ...raw, s: undefined },
      {},
    ])
      t.notOk(isTransaction(wrong, wanted))
    t.notOk(isTransaction(raw, { ...wanted, from: CALL.to ?? '' }))
    t.notOk(isTransaction(raw, { ...wanted, hash: `0x${'0'.repeat(64)}` }))
  })
}

t.end()
