/** Multicall3 at the byte level, against a general ABI coder. */
import { Interface } from 'ethers/abi'
import fc from 'fast-check'
import t from 'tap'
import { decodeAggregate3, encodeAggregate3 } from '../../src/chain/aggregate3.ts'

const ABI = new Interface([
  'function aggregate3(tuple(address target, bool allowFailure, bytes callData)[] calls) payable returns (tuple(bool success, bytes returnData)[] returnData)',
])
const hex = (length: { minLength: number; maxLength: number }) =>
  fc.uint8Array(length).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
const bytes = hex({ minLength: 0, maxLength: 100 })
const address = hex({ minLength: 20, maxLength: 20 })

t.test('calls are encoded as a general coder encodes them', (t) => {
  fc.assert(
    fc.property(fc.array(fc.record({ target: address, data: bytes })), (calls) => {
      const items = calls.map(({ target, data }) => [target, true, data])
      return encodeAggregate3(calls) === ABI.encodeFunctionData('aggregate3', [items])
    }),
  )
  t.end()
})

t.test('answers are read as a general coder wrote them', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), bytes)), (results) => {
      const data = ABI.encodeFunctionResult('aggregate3', [results])
      const expected = results.map(([success, returned]) => (success && returned !== '0x' ? returned : null))
      return JSON.stringify(decodeAggregate3(data, results.length)) === JSON.stringify(expected)
    }),
  )
  t.end()
})

t.test('an answer that is cut, too short or changed is refused, and never read beyond its end', (t) => {
  const results = [
    [true, '0x1234'],
    [true, `0x${'ab'.repeat(40)}`],
  ]
  const data = ABI.encodeFunctionResult('aggregate3', [results])
  t.throws(() => decodeAggregate3(data, 3), { code: 'rpc_unavailable' })
  t.throws(() => decodeAggregate3('0x', 0), { code: 'rpc_unavailable' })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: data.length - 1 }), fc.constantFrom('0', 'f', ''), (at, digit) => {
      const changed = data.slice(0, at) + digit + data.slice(at + 1)
      try {
        return decodeAggregate3(changed, 2).length === 2
      } catch (error) {
        return (error as { code?: string }).code === 'rpc_unavailable'
      }
    }),
  )
  t.end()
})
