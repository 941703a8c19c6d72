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
    ///   - parameters: of the query, not encoded.
    ///   - body: the JSON of the request's object; `nil` for GET.
    init(
        _ action: String, under root: String, _ effect: Effect = .reads, items: Name? = nil, parameters: [(name: String, value: String)] = [],
        body: [UInt8]? = nil
    ) {
        self.action = action
        self.effect = effect
        self.items = items
        self.body = body ?? []
        method = body == nil ? .GET : .POST
        let path = root + action.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encoded(String($0)) }.joined(separator: "/")
        target = Self.adding(parameters, to: path)
    }

    /// - Parameter members: writes the members of the request's object.
    init(
        _ action: String, under root: String, _ effect: Effect = .reads, items: Name? = nil,
        _ members: (inout JSONWriter) throws(CloudKitFailure) -> Void
    ) throws(CloudKitFailure) {
        var writer = JSONWriter(capacity: 1024)
        try writer.object(members)
        self.init(action, under: root, effect, items: items, body: writer.bytes)
    }

    /// The target with more parameters.
    func target(adding secrets: [(name: String, value: Secret)]) -> String {
        Self.adding(secrets.map { ($0.name, $0.value.text) }, to: target)
    }

    /// Encodes names and values once, however they look.
    private static func adding(_ parameters: [(name: String, value: String)], to target: String) -> String {
        parameters.reduce(target) { target, parameter in
            let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
            return "\(target)\(separator)\(PercentEncoding.encoded(parameter.name))=\(PercentEncoding.encoded(parameter.value))"
        }
    }
}
