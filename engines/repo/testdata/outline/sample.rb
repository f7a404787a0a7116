module Store
  class Row < Base
    def read?(path)
    def self.open
