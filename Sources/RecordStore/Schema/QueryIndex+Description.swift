internal import JSON
internal import Records

extension QueryIndex: CustomStringConvertible {
    /// `author QUERYABLE`, `author + year`, `record names`.
    public var description: String {
        switch self {
        case .field(let key, let indexes): "\(key.errorName) \(indexes.names.joined(separator: " "))"
        case .composite(let index): "\(index.filter.errorName) + \(index.sort.errorName)"
        case .recordNames: "record names"
        }
    }
}
