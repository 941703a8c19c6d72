internal import JSON
internal import NIOHTTP1
internal import Records
internal import Text

/// A request to one of CloudKit's services, before it has credentials.
struct ServiceCall: Sendable {
    /// The effect of sending a request twice.
    enum Effect: Sendable, Hashable {
        /// None: the request only reads.
        case reads
        /// The request may only be sent again if it certainly did not arrive.
        case saves
        /// The request saves, but the second time changes nothing more than the first.
        case savesRepeatably
    }

    /// Such as `records/query`.
    let action: String
    /// Path and query without credentials.
    let target: String
    let method: HTTPMethod
    /// Empty for GET.
    let body: [UInt8]
    let effect: Effect
    /// The member of the answer with one item per item of the request. If all of them failed for the moment, the request is repeated.
    let items: Name?

    /// - Parameters:
    ///   - root: a path that ends with a slash.
    ///   - body: writes the members of the request's object; `nil` for GET.
    init(
        _ action: String, under root: String, _ effect: Effect = .reads, items: Name? = nil, parameters: [(name: String, value: String)] = [],
        _ members: ((inout JSONWriter) throws(CloudKitFailure) -> Void)? = nil
    ) throws(CloudKitFailure) {
        self.action = action
        self.effect = effect
        self.items = items
        let path = root + action.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encoded(String($0)) }.joined(separator: "/")
        let query = parameters.map { "\(PercentEncoding.encoded($0.name))=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
        target = query.isEmpty ? path : "\(path)?\(query)"
        method = members == nil ? .GET : .POST
        var writer = JSONWriter(capacity: 1024)
        if let members { try writer.object(members) }
        body = writer.bytes
    }

    /// The target with more parameters.
    func target(adding parameters: [(name: String, value: Secret)]) -> String {
        guard !parameters.isEmpty else { return target }
        let query = parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return target + (target.contains("?") ? "&" : "?") + query
    }
}
