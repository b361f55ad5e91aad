// Texts of the page of an experiment. Its sentences are part of its data.

import { t } from '../lib/i18n';

export const E = {
  keys: t('Arrow keys go from point to point, Home and End to the first and last, Escape leaves them.', '方向键逐点移动，Home 和 End 跳到首点和末点，按 Escape 退出。'),
  series: t('Series', '系列'),
  interval: t('Interval', '区间'),
  what: t('In words', '说明'),
  table: t('Table {n}', '表 {n}'),
  details: t('In detail', '明细'),
  how: t('How it was run', '运行方式'),
  running: t('Still running', '进行中'),
  runningNote: t('What is shown is what is known so far.', '以下为目前已知的结果。'),
  exit: t('exit code', '退出码'),
  good: t('As hoped', '符合预期'),
  bad: t('Not as hoped', '不符合预期'),
  doubt: t('Cannot be told', '无法判定'),
};
