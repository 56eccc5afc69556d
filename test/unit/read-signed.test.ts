/** Signed bytes from what nodes show: no single node decides that they are another program's, or stops a lane. */
import { Transaction, Wallet } from 'ethers'
import t from 'tap'
import type { Nodes } from '../../src/chain/agreement.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { readSigned } from '../../src/transactions/read-signed.ts'

const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const CALL = { chainId: 1000001, nonce: 5, to: `0x${'22'.repeat(20)}`, value: 7n, gasLimit: 21_000n }
const FEES = { maxFeePerGas: 3n, maxPriorityFeePerGas: 1n }

/** As a node shows it. */
function shown(signed: Transaction): Readonly<Record<string, unknown>> {
  const { hash, type, signature } = signed
  return {
    ...{ hash, to: signed.to, type: `0x${type}`, accessList: [], input: '0x' },
    nonce: toQuantity(signed.nonce),
    gas: toQuantity(signed.gasLimit),
    value: toQuantity(signed.value),
    maxFeePerGas: toQuantity(3n),
    maxPriorityFeePerGas: toQuantity(1n),
    ...{ r: signature?.r, s: signature?.s, yParity: toQuantity(signature?.yParity ?? 0) },
  }
}

async function own(): Promise<Transaction> {
  return Transaction.from(await KEY.signTransaction({ ...CALL, ...FEES, type: 2 }))
}

function nodesSaying(...values: readonly unknown[]): Pick<Nodes, 'nodes'> {
  const readers = values.map((value) => ({
    batch: async () => [{ ok: true, value } as const],
    host: 'node.test',
    doubt: () => undefined,
  }))
  return { nodes: () => readers }
}

t.test('our bytes are ours in whatever way a node writes their type', async (t) => {
  const signed = await own()
  const wanted = { hash: String(signed.hash), from: KEY.address, chainId: 1000001 }
  const right = shown(signed)
  for (const type of ['0x02', '0x2', 2, '2', ['0x2']])
    t.match(
      await readSigned(nodesSaying({ ...right, type }, right), wanted),
      { rawTransaction: signed.serialized, nonce: 5 },
      `type ${JSON.stringify(type)}`,
    )
})

t.test('what no transaction can have is shown by nobody: the next node is asked', async (t) => {
  const signed = await own()
  const wanted = { hash: String(signed.hash), from: KEY.address, chainId: 1000001 }
  const right = shown(signed)
  const lies = {
    'a parity that is none': { yParity: '0x2' },
    'call data that is no hex': { input: 'nothing' },
    'a recipient that is none': { to: 'nobody' },
    'a tip above the fee': { maxPriorityFeePerGas: '0x9' },
    'a signature that is too long': { r: `0x${'ff'.repeat(40)}` },
  }
  for (const [name, lie] of Object.entries(lies))
    t.match(await readSigned(nodesSaying({ ...right, ...lie }, right), wanted), { nonce: 5 }, name)
  for (const [name, lie] of Object.entries(lies))
    await readSigned(nodesSaying({ ...right, ...lie }), wanted).then(
      (said) => t.equal(said, null, name),
      (error: unknown) => t.match(error, { code: 'rpc_unavailable' }, name),
    )
})
