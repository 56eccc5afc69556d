/** Whether a time is in a window of a time zone, with its daylight saving time. Pure: the zones are those of the runtime. */
import { LRUCache } from 'lru-cache'
import { DAYS, type TimeWindow } from '../core/policy.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DAY_MINUTES = 1_440
/** Since 1972 the clocks of all zones change at whole quarters of an hour UTC. */
const SLOT_MS = 900_000

type Clock = { readonly format: Intl.DateTimeFormat; slot: number; offsetMs: number }

/** More than there are zones. Each has millions of names: capitals and small letters are the same. */
const MAX_CLOCKS = 1_000
/** By the name of a zone. A zone has few policies, and their requests come at about one time. */
const clocks = new LRUCache<string, Clock>({ max: MAX_CLOCKS })

/** Whether the runtime knows a time zone by this IANA name. */
export function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(zone)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** @param ms since the epoch */
export function isWithin({ zone, days, monthDays, from = 0, to = DAY_MINUTES }: TimeWindow, ms: number): boolean {
  const local = ms + offsetOf(zone, ms)
  const minute = Math.floor((((local % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS)
  if (to > from) return minute >= from && minute < to && isOn(local, days, monthDays)
  // Past midnight, the window is that of the day on which it began.
  if (minute >= from) return isOn(local, days, monthDays)
  return minute < to && isOn(local - DAY_MS, days, monthDays)
}

function isOn(local: number, days: TimeWindow['days'], monthDays: TimeWindow['monthDays']): boolean {
  const date = new Date(local)
  const day = DAYS[date.getUTCDay()]
  if (days !== undefined && (day === undefined || !days.includes(day))) return false
  return monthDays === undefined || monthDays.includes(date.getUTCDate())
}

/** What the clocks of a zone are ahead of UTC, ms. */
function offsetOf(zone: string, ms: number): number {
  const clock = clockOf(zone)
  const slot = Math.floor(ms / SLOT_MS)
  if (clock.slot !== slot) {
    clock.offsetMs = wallClock(clock.format, slot * SLOT_MS) - slot * SLOT_MS
    clock.slot = slot
  }
  return clock.offsetMs
}

function clockOf(zone: string): Clock {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', second: 'numeric', ...numeric })
  const clock = { format, slot: Number.NaN, offsetMs: 0 }
  clocks.set(zone, clock)
  return clock
}

/** What the clocks of a zone show, as ms of UTC. */
function wallClock(format: Intl.DateTimeFormat, ms: number): number {
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
