internal import Accounts
internal import Console
internal import JSON
internal import Records
internal import Text
internal import Traffic

/// The filters of the page's form.
struct RequestsForm: Sendable {
    /// The targets of the requests.
    enum Area: String, CaseIterable {
        case server = ""
        case container
        case database
    }

    let area: Area
    let operation: String?
    /// The handle of a user.
    let by: String?
    /// ``ClientIdentity/id`` of a client.
    let client: String?
    let text: String
    let onlyErrors: Bool
    let onlyWarnings: Bool
    private let filter: RequestFilter
    private let words: RequestFilter
    private let bytes: [UInt8]
    private let isOfNobody: Bool

    init(_ visit: Visit) {
        let fields = visit.fields
        area = fields.text("in").flatMap(Area.init) ?? .server
        operation = fields.text("operation")
        by = fields.text("by")
        client = fields.text("client")
        text = fields["text"]?.trimmingSpaces ?? ""
        onlyErrors = fields["errors"] == "1"
        onlyWarnings = fields["warnings"] == "1"
        bytes = Array(text.utf8)
        let user = fields.text("by").flatMap { visit.people.user(named: $0)?.userRecordName }
        isOfNobody = by != nil && user == nil
        var filter = RequestFilter()
        if area != .server {
            filter.container = visit.place.address.container
            filter.environment = visit.place.address.environment
        }
        if area == .database { filter.scope = visit.place.address.scope }
        filter.operation = operation
        filter.userRecordName = user
        filter.client = client
        filter.errorsOnly = onlyErrors
        filter.warningsOnly = onlyWarnings
        self.filter = filter
        var words = RequestFilter()
        words.text = text
        self.words = words
    }

    var isEmpty: Bool { parameters.isEmpty }

    var parameters: [(name: String, value: String)] {
        let all: [(String, String?)] = [
            ("in", area == .server ? nil : area.rawValue), ("operation", operation), ("by", by), ("client", client), ("text", text.isEmpty ? nil : text),
            ("errors", onlyErrors ? "1" : nil), ("warnings", onlyWarnings ? "1" : nil),
        ]
        return all.compactMap { name, value in value.map { (name: name, value: $0) } }
    }

    /// True if a request passes the filters. A page of the console that followed changes is listed only if one asks for the console. The search text matches the row of the request or the raw bytes of its bodies.
    func wants(_ request: ServedRequest, _ bodies: RequestBodies?) -> Bool {
        guard !isOfNobody, filter.matches(request) else { return false }
        if client == nil, request.isStream, request.client.isOfSkylight { return false }
        if text.isEmpty || words.matches(request) { return true }
        return bodies?.request?.bytes.holds(bytes) ?? false || bodies?.response?.bytes.holds(bytes) ?? false
    }
}

extension [UInt8] {
    /// True if the array contains the other bytes.
    func holds(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first else { return true }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                guard bytes.count >= needle.count else { return false }
                var start = 0
                while start <= bytes.count - needle.count {
                    if bytes[start] == first {
                        var length = 1
                        while length < needle.count, bytes[start + length] == needle[length] { length += 1 }
                        if length == needle.count { return true }
                    }
                    start += 1
                }
                return false
            }
        }
    }
}
