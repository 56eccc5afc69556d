// With TEST_TIMES=<file>, each test file adds a line to that file: its processor time, with children.
import { appendFileSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const TICKS_A_SECOND = 100
const [, file = ''] = process.argv
const times = process.env.TEST_TIMES
const [, name] = /(test\/.*\.test)\.js$/.exec(file) ?? []

if (isMainThread && times !== undefined && name !== undefined)
  process.on('exit', () => {
    // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: utime, stime, cutime and cstime, counted from `state`.
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(/\) (?=[A-Z] )/)
    const ticks = fields
      .split(' ')
      .slice(11, 15)
      .reduce((sum, field) => sum + Number(field), 0)
    appendFileSync(times, `${name}.ts ${ticks / TICKS_A_SECOND}\n`)
  })
