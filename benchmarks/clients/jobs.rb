# ruby jobs.rb mysql2 | postgresql: the job of benchmarks/clients/README.md with ActiveRecord.
require 'active_record'

ActiveRecord::Base.establish_connection(
  adapter: ARGV[0], host: '10.77.0.2', username: 'lab', password: 'labpw', database: 'lab', prepared_statements: true
)

class Author < ActiveRecord::Base
  has_many :books
end

class Book < ActiveRecord::Base
  belongs_to :author
end

authors = Author.order(:id).to_a
rows = authors.size + authors.sum { |author| author.books.to_a.size }
rows += (1..10).sum { |id| Book.find_by(id: id) ? 1 : 0 }
Book.transaction do
  (1..3).each { |id| Book.transaction(requires_new: true) { Book.where(id: id).update_all('price = price + 1') } }
end
begin
  ActiveRecord::Base.connection.execute('select nothing from nowhere')
  abort 'an error was expected'
rescue ActiveRecord::StatementInvalid
  # told by the server
end
Book.in_batches(of: 100) { |some| rows += some.to_a.size }
rows += Author.includes(:books).to_a.sum { |author| 1 + author.books.size }
ActiveRecord::Base.connection.disconnect!
client = "ActiveRecord #{ActiveRecord.version}, #{ARGV[0] == 'mysql2' ? "mysql2 #{Mysql2::VERSION}" : "pg #{PG::VERSION}"}"
puts %({"client": "#{client}", "rows": #{rows}, "errors": 1})
