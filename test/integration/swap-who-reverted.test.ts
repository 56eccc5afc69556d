/** Why a swap failed, by the real service: what a token says in the words of a router, with and without a tracer. */
import t, { type Test } from 'tap'
import { startNodeProxy } from '../support/service-node-proxy.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { deployPair } from '../support/swap-pair.ts'
import { withSwapService } from '../support/swap-service.ts'
import { ALICE, COIN, mined } from '../support/swap-stage.ts'

const NOBODY = '0x0000000000000000000000000000000000000000'
const IMITATES = 4
const swapToken = contractIn(compileSolidity('SwapToken.sol'), 'SwapToken')
const WORDS = 'UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT'

/** @param traces whether the node has a tracer */
async function withToken(t: Test, traces: boolean) {
  let chainUrl = ''
  const node = await startNodeProxy(() => chainUrl)
  t.after(node.close)
  const no = { error: { code: -32601, message: 'the method does not exist' } }
  node.decide = (calls) => {
    const method = calls.find((call) => call.method.startsWith('debug_'))?.method
    return method === undefined || traces ? { type: 'pass' } : { type: 'answer', method, answer: no }
  }
  const stage = await withSwapService(t, {
    before: async (url) => {
      chainUrl = url
      return [node.url]
    },
  })
  const token = await deployPair(stage, swapToken.bytecode + (18).toString(16).padStart(64, '0'), 1_000_000n * COIN)
  const body = { network: 'ethereum', contract_address: token }
  await stage.service.api.insist({ method: 'POST', path: '/v1/assets', body, key: token })
  /** A swap of which something happens after it is accepted and before it is signed. */
  const failing = async (happens: (quoteId: string) => Promise<unknown>) => {
    const { quote_id } = await stage.quote({ from_asset: 'ETH', to_asset: token, amount: '1' })
    await stage.service.stopWorker('signer')
    const reply = await stage.swap({ quote_id })
    await happens(quote_id)
    await stage.service.startWorker('signer')
    return stage.settled(reply)
  }
  const imitate = () => {
    const data = swapToken.abi.encodeFunctionData('turn', [IMITATES, 100, NOBODY])
    return mined(stage.url, { from: ALICE, to: token, data })
  }
  return { ...stage, token, failing, imitate }
}

t.test('a token that says what a router says about a moved price fails its swap under its own name', async (t) => {
  const { token, failing, imitate, overtake } = await withToken(t, true)
  const moved = await failing((quoteId) => overtake(quoteId, 100n))
  t.match(moved, { failure: { code: 'slippage_exceeded', message: WORDS }, swap: { failure_guessed: false } })
  const imitated = await failing(imitate)
  t.match(imitated, { failure: { code: 'execution_reverted' }, swap: { failure_guessed: false } })
  t.equal(imitated.failure.message, `The contract ${token.toLowerCase()}, which the router called, reverted: ${WORDS}`)
})

t.test('without a tracer the same words are a guess, whoever said them', async (t) => {
  const { failing, imitate, overtake } = await withToken(t, false)
  for (const happens of [(quoteId: string) => overtake(quoteId, 100n), imitate]) {
    const failed = await failing(happens)
    t.match(failed, { failure: { code: 'slippage_exceeded' }, swap: { failure_guessed: true } })
    t.match(failed.failure.message, /INSUFFICIENT_OUTPUT_AMOUNT \(a guess: no node said which contract reverted/)
  }
})

t.end()
