import ArgumentParser
import JSON
import Records

/// `FIELD:QUERYABLE,SORTABLE`.
struct IndexOption: ExpressibleByArgument, Sendable {
    let fieldName: Name
    let indexes: Indexes

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), colon > argument.startIndex else { return nil }
        var indexes: Indexes = []
        for name in argument[argument.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false) {
            guard let index = Indexes(name: String(name)) else { return nil }
            indexes.formUnion(index)
        }
        fieldName = Name(argument[..<colon])
        self.indexes = indexes
    }
}
