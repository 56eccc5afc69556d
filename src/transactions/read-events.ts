/** Reads the amounts in stored event data, for `upcast`: the only place where they change from digits to bigint. Pure. */
import { type Recorded, readDigits } from '../core/recorded.ts'
import type { Reservation } from '../core/spend-limits.ts'
import type { Inclusion } from './events.ts'
import type { Fees, Intent, Quote } from './intent.ts'

/** Spreads `data` and replaces: V8 copies an object so many times faster than what is left of one after destructuring. */
export function readIntent(data: Recorded<Intent>): Intent {
  const { outflows, reservations, reserved } = data
  return {
    ...data,
    amount: readDigits(data.amount),
    reserved: readReserved(reserved),
    quote: readQuote(data.quote),
    ...(outflows && { outflows: outflows.map(({ asset, amount }) => ({ asset, amount: readDigits(amount) })) }),
    ...(reservations && { reservations: reservations.map(readReservation) }),
  } as Intent
}

type Reserving<Reserved> = { readonly reservations?: readonly Reserved[] }

/** Of an event without other amounts than those that it counts towards limits. */
export function readReserving<Stored extends Reserving<Recorded<Reservation>>>(
  data: Stored,
): Omit<Stored, 'reservations'> & Reserving<Reservation> {
  const { reservations } = data
  if (reservations === undefined) return data as Omit<Stored, 'reservations'>
  return { ...data, reservations: reservations.map(readReservation) }
}

function readReservation(data: Recorded<Reservation>): Reservation {
  return { ...data, limit: readDigits(data.limit), amount: readDigits(data.amount), kept: readDigits(data.kept) }
}

function readReserved({ gasLimit, maxFeePerGas, newAccountGas }: Recorded<Intent['reserved']>): Intent['reserved'] {
  const reserved = { gasLimit: readDigits(gasLimit), maxFeePerGas: readDigits(maxFeePerGas) }
  return newAccountGas === undefined ? reserved : { ...reserved, newAccountGas: readDigits(newAccountGas) }
}

function readQuote(data: Recorded<Quote> | null): Quote | null {
  if (data === null) return null
  return {
    baseFeePerGas: readDigits(data.baseFeePerGas),
    maxFeePerGas: readDigits(data.maxFeePerGas),
    maxPriorityFeePerGas: readDigits(data.maxPriorityFeePerGas),
  }
}

function readFees({ gasLimit, maxFeePerGas, maxPriorityFeePerGas }: Recorded<Fees>): Fees {
  return {
    gasLimit: readDigits(gasLimit),
    maxFeePerGas: readDigits(maxFeePerGas),
    maxPriorityFeePerGas: readDigits(maxPriorityFeePerGas),
  }
}

type Signing = { readonly fees: Fees; readonly quote: Quote | null }

/** Of bytes that were signed. */
export function readSigning<Stored extends Recorded<Signing>>(data: Stored): Omit<Stored, keyof Signing> & Signing {
  return { ...data, fees: readFees(data.fees), quote: readQuote(data.quote) }
}

export function readInclusion(data: Recorded<Inclusion>): Inclusion {
  const { moved } = data
  const gas = { gasUsed: readDigits(data.gasUsed), effectiveGasPrice: readDigits(data.effectiveGasPrice) }
  const inclusion = { ...data, ...gas }
  if (moved !== undefined) return { ...inclusion, moved: moved === null ? null : readDigits(moved) }
  const withoutMoved: Omit<typeof inclusion, 'moved'> = inclusion
  return withoutMoved
}
