# ruby work.rb DRIVER SHAPE N [parameter=value…]: one workload of the lab, with the dialogue of ../workloads.py.
driver, shape, n, *words = ARGV
$n = 2 # to warm up
GIVEN = words.to_h { |word| word.split('=') }.transform_values(&:to_i)
PLACE = { host: '10.77.0.2', username: 'lab', password: 'labpw', database: 'lab' }.freeze
SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = %d LIMIT #{GIVEN.fetch('rows', 1)}".freeze
$statements = $rows = 0

# Counts what it runs; with `run`, a statement as text.
Client = Struct.new(:db, :run) do
  def ask(sql)
    $statements += 1
    $rows += run.call(db, sql).to_a.size
  end

  def close
    db.close
  end
end

def mysql
  Client.new(Mysql2::Client.new(**PLACE), ->(db, sql) { db.query(sql) })
end

def postgresql
  words = { host: PLACE[:host], user: 'lab', password: 'labpw', dbname: 'lab', sslmode: 'disable', gssencmode: 'disable' }
  Client.new(PG.connect(**words), ->(db, sql) { db.exec(sql) })
end

def plain(shape, connect)
  db = connect.call
  (1..$n).each do |key|
    case shape
    when 'nplus1' then db.ask(SALARIES % key)
    when 'thinking'
      db.ask(SALARIES % key)
      sleep GIVEN['think'] / 1000.0
    when 'transactions'
      ['BEGIN', "UPDATE acc SET bal = bal + 1 WHERE id = #{key}", 'COMMIT'].each { |sql| db.ask(sql) }
    when 'reconnecting'
      db.ask(SALARIES % key)
      if (key % GIVEN['batch']).zero?
        db.close
        db = connect.call
      end
    else abort "no shape #{shape}"
    end
  end
  db.close
end

# libpq's pipeline: `batch` statements, one Sync, then their answers.
def pipeline(db)
  db.enter_pipeline_mode
  (1..$n).each_slice(GIVEN['batch']) do |keys|
    keys.each { |key| db.send_query_params(SALARIES % key, []) }
    db.pipeline_sync
    keys.each do
      while (result = db.get_result)
        $rows += result.ntuples
      end
    end
    raise 'a Sync was expected' unless db.get_result.result_status == PG::PGRES_PIPELINE_SYNC

    $statements += keys.size
  end
  db.exit_pipeline_mode
  db.close
end

def mapped(shape, adapter)
  ActiveRecord::Base.establish_connection(adapter: adapter, **PLACE, prepared_statements: GIVEN.fetch('prepared', 1) == 1)
  case shape
  when 'lazy' then $rows += Employee.order(:emp_no).limit($n).to_a.sum { |one| 1 + one.salaries.to_a.size }
  when 'saved' then Account.where(id: 1..$n).each { |one| one.update!(bal: one.bal + 1) } # BEGIN, UPDATE, COMMIT each
  when 'preloaded' then (1..$n).each { |k| $rows += Employee.where(emp_no: k * 10..k * 10 + 5).includes(:salaries).to_a.sum { |one| 1 + one.salaries.size } }
  else abort "no shape #{shape}"
  end
  ActiveRecord::Base.connection.disconnect!
end

if driver.start_with?('activerecord')
  require 'active_record'
  class Employee < ActiveRecord::Base
    self.primary_key = 'emp_no'
    has_many :salaries, foreign_key: 'emp_no'
  end
  class Salary < ActiveRecord::Base
    self.primary_key = 'emp_no'
  end
  class Account < ActiveRecord::Base
    self.table_name = 'acc'
  end
  adapter = driver.end_with?('mysql2') ? 'mysql2' : 'postgresql'
  require adapter == 'mysql2' ? 'mysql2' : 'pg'
  require "active_record/connection_adapters/#{adapter}_adapter"
  version = "ActiveRecord #{ActiveRecord.version}"
  ActiveSupport::Notifications.subscribe('sql.active_record') { $statements += 1 }
  work = -> { mapped(shape, adapter) }
else
  require driver
  version = driver == 'pg' ? "pg #{PG::VERSION}" : "mysql2 #{Mysql2::VERSION}"
  connect = driver == 'pg' ? method(:postgresql) : method(:mysql)
  work = shape == 'pipeline' ? -> { pipeline(connect.call.db) } : -> { plain(shape, connect) }
end

$stdout.sync = true
work.call unless ENV['COLD']
puts 'READY'
$stdin.gets
$n = n.to_i
$statements = $rows = 0
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
work.call
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
puts %({"client": "#{version}", "statements": #{$statements}, "rows": #{$rows}, "seconds": #{seconds}, "total": #{seconds}})
