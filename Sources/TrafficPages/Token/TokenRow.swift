internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Workbench

/// One of several tokens in an answer or an archive.
struct TokenRow: ViewModel {
    let path: String
    /// The zone name beside the token.
    let zone: String?
    /// `zone token of Notes`, `database token`…
    let kind: String
    /// `good`, `warn` or `bad`; `nil` if the state is unknown.
    let tone: String?
    let standing: String
    let position: String?
    let after: String?
    let text: String
    let href: String

    /// - Parameter finding: `nil` if the value is not a change token.
    init(_ found: FoundToken, _ finding: TokenFinding?, visit: Visit) {
        path = found.path
        zone = found.zoneName?.string
        text = found.text
        href = visit.place.link("token", [("token", found.text)])
        guard let explanation = finding?.explanation else {
            (position, after) = (nil, nil)
            if found.kind == .continuationMarker {
                (kind, tone, standing) = ("continuation marker", nil, "continues a query; it is not a change token")
            } else if case .unknown(_, let origin)? = finding {
                kind = "\(Digits.count(found.bytes?.count ?? 0, "byte"))"
                tone = origin == nil && PastedKind(bytes: found.bytes ?? []) == .iCloudToken ? nil : "warn"
                standing = origin.map { "from \($0.words)" } ?? Self.words(PastedKind(bytes: found.bytes ?? []))
            } else {
                (kind, tone, standing) = ("unreadable", "bad", "neither base64 nor hexadecimal text")
            }
            return
        }
        position = Digits.grouped(explanation.position)
        after = explanation.changesAfter.map { Digits.grouped($0) }
        var mistake: String?
        switch explanation.subject {
        case .database:
            kind = "database token"
            if found.zoneName != nil { mistake = "a database token where a zone token belongs" }
        case .zone(let zoneID):
            kind = zoneID.map { "zone token of \(visit.zoneName($0))" } ?? "zone token"
            if let beside = found.zoneName, let zoneID, zoneID.zoneName != beside { mistake = "belongs to another zone than the named one" }
        }
        switch explanation.standing {
        case .good: (tone, standing) = mistake.map { ("bad", $0) } ?? ("good", "valid")
        case .expired(let why): (tone, standing) = ("bad", "expired: \(why)")
        case .foreign(let why): (tone, standing) = ("bad", "not for this database: \(why)")
        }
    }

    /// What a token is that no store explains.
    private static func words(_ kind: PastedKind) -> String {
        switch kind {
        case .damagedToken(let count, let whole): count < whole ? "cut short: \(count) of \(whole) bytes" : "\(count) bytes, a whole one has \(whole)"
        case .iCloudToken: "iCloud’s, only iCloud can read it"
        case .continuationMarker: "a continuation marker where a change token belongs"
        default: "not from this environment"
        }
    }
}
