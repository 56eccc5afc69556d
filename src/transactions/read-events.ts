/** Reads the amounts in event data: the only place where they change from digits to bigint. Pure. */
import type { Recorded } from '../core/recorded.ts'
import type { Fees, Inclusion, Intent, Quote } from './events.ts'

export function readIntent(data: Recorded<Intent>): Intent {
  const { amount, outflows, reserved, quote, ...rest } = data
  return {
    ...rest,
    amount: BigInt(amount),
    ...(outflows === undefined
      ? {}
      : { outflows: outflows.map(({ asset, amount }) => ({ asset, amount: BigInt(amount) })) }),
    reserved: { gasLimit: BigInt(reserved.gasLimit), maxFeePerGas: BigInt(reserved.maxFeePerGas) },
    quote: readQuote(quote),
  }
}

export function readQuote(data: Recorded<Quote> | null): Quote | null {
  if (data === null) return null
  return {
    baseFeePerGas: BigInt(data.baseFeePerGas),
    maxFeePerGas: BigInt(data.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(data.maxPriorityFeePerGas),
  }
}

export function readFees({ gasLimit, maxFeePerGas, maxPriorityFeePerGas }: Recorded<Fees>): Fees {
  return {
    gasLimit: BigInt(gasLimit),
    maxFeePerGas: BigInt(maxFeePerGas),
    maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
  }
}

export function readInclusion({ moved, ...data }: Recorded<Inclusion>): Inclusion {
  return {
    ...data,
    ...(moved === undefined ? {} : { moved: moved === null ? null : BigInt(moved) }),
    gasUsed: BigInt(data.gasUsed),
    effectiveGasPrice: BigInt(data.effectiveGasPrice),
  }
}
