/** Windows of time in a time zone, against the formatter of the runtime. */
import fc from 'fast-check'
import t from 'tap'
import { DAYS, type TimeWindow } from '../../src/core/policy.ts'
import { isTimeZone, isWithin } from '../../src/policies/local-time.ts'

const ZONES = [
  'UTC',
  'Europe/Zurich',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'Africa/Casablanca',
  'America/St_Johns',
] as const
const at = (time: string) => Date.parse(time)
const hours = (from: number, to: number) => ({ from: from * 60, to: to * 60 })

/** What the clocks show, without the arithmetic of the module. */
function shown(zone: string, ms: number): { readonly day: string; readonly date: number; readonly minute: number } {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone: zone, weekday: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  } as const)
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type as string, value]))
  const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'))
  return { day: (parts.get('weekday') ?? '').toLowerCase(), date: Number(parts.get('day')), minute }
}

t.test('a window is that of the clocks of its zone, at any time', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.integer({ min: at('1972-01-01T00:00:00Z'), max: at('2060-01-01T00:00:00Z') }),
      fc.integer({ min: 0, max: 1_438 }),
      fc.integer({ min: 1, max: 1_440 }),
      fc.subarray([...DAYS], { minLength: 1 }),
      fc.integer({ min: 1, max: 31 }),
      (zone, ms, from, length, days, date) => {
        const to = Math.min(from + length, 1_440)
        const clock = shown(zone, ms)
        const isInside = clock.minute >= from && clock.minute < to
        const is = (window: Partial<TimeWindow>) => isWithin({ zone, from, to, ...window }, ms)
        return (
          is({}) === isInside &&
          is({ days }) === (isInside && (days as readonly string[]).includes(clock.day)) &&
          is({ monthDays: [date] }) === (isInside && clock.date === date)
        )
      },
    ),
    { numRuns: 2_000 },
  )
})

t.test('the clocks change within the window', (t) => {
  const night = { zone: 'Europe/Zurich', ...hours(2, 3) }
  t.notOk(isWithin(night, at('2026-03-29T01:30:00Z')), 'there is no time from 2 to 3 when summer begins')
  t.notOk(isWithin(night, at('2026-03-29T00:59:59.999Z')))
  t.ok(isWithin(night, at('2026-10-25T00:30:00Z')), 'and two when it ends')
  t.ok(isWithin(night, at('2026-10-25T01:30:00Z')))
  t.notOk(isWithin(night, at('2026-10-25T02:00:00Z')))
  t.end()
})

t.test('a window over midnight belongs to the day on which it begins', (t) => {
  const friday = { zone: 'America/New_York', days: ['fri'], ...hours(22, 6) } as const
  t.notOk(isWithin(friday, at('2026-11-28T02:59:00Z')), 'Friday, 21:59')
  t.ok(isWithin(friday, at('2026-11-28T03:00:00Z')), 'Friday, 22:00')
  t.ok(isWithin(friday, at('2026-11-28T10:59:00Z')), 'Saturday, 5:59')
  t.notOk(isWithin(friday, at('2026-11-28T11:00:00Z')), 'Saturday, 6:00')
  t.notOk(isWithin(friday, at('2026-11-27T10:00:00Z')), 'Friday, 5:00: of Thursday')
  const last = { zone: 'UTC', monthDays: [31], ...hours(23, 1) }
  t.ok(isWithin(last, at('2027-01-01T00:30:00Z')))
  t.notOk(isWithin(last, at('2026-12-31T00:30:00Z')))
  t.end()
})

t.test('time zones have IANA names', (t) => {
  for (const zone of ZONES) t.ok(isTimeZone(zone), zone)
  for (const zone of ['', 'Mars/Olympus', '+01:00', '-05:00', 'Europe/Zurich ']) t.notOk(isTimeZone(zone), zone)
  t.end()
})
