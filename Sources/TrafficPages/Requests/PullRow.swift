internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// A pull in a request: its start, its end, and its result.
struct PullRow: ViewModel {
    /// The position of a token.
    struct TokenPosition: ViewModel {
        let text: String
        /// The link that explains the token.
        let href: String?
        let note: String?
    }

    let zone: String
    let zoneHref: String?
    let from: TokenPosition
    let to: TokenPosition?
    let error: String?
    let changes: String
    let moreComing: Bool
    /// The data that the pull did not request.
    let left: String?

    /// The maximum number of pulls to show per request.
    private static let limit = 200

    static func rows(_ request: ServedRequest, _ visit: Visit) async throws -> [PullRow] {
        guard let address = request.address else { return [] }
        let tokens = TokenReader(visit)
        var rows: [PullRow] = []
        for pull in request.pulls.prefix(limit) {
            rows.append(
                PullRow(
                    zone: pull.zoneID?.zoneName.string ?? "the list of zones",
                    zoneHref: pull.zoneID.flatMap { zoneID in
                        Self.place(request, address, visit)?.inZone(zoneID).link("changes")
                    },
                    from: try await Self.position(pull.sent, request, address, tokens, visit)
                        ?? TokenPosition(text: "the start", href: nil, note: "no token"),
                    to: try await Self.position(pull.given, request, address, tokens, visit),
                    error: pull.error.map { "\($0.code.rawValue): \($0.reason)" },
                    changes: Digits.grouped(pull.changes), moreComing: pull.moreComing,
                    left: Self.left(pull)))
        }
        return rows
    }

    /// The position of a token, or a note that it can't be read.
    static func position(
        _ token: ChangeToken?, _ request: ServedRequest, _ address: DatabaseAddress, _ tokens: TokenReader,
        _ visit: Visit
    ) async throws -> TokenPosition? {
        guard let token else { return nil }
        guard let user = request.userRecordName else { return TokenPosition(text: "a token", href: nil, note: nil) }
        return try await tokens.position(of: token, in: address, of: user, visit)
    }

    private static func place(_ request: ServedRequest, _ address: DatabaseAddress, _ visit: Visit) -> Place? {
        guard visit.shows(request) else { return nil }
        return visit.place.with {
            $0.address = address
            $0.user = request.userRecordName.flatMap { visit.people.user($0)?.handle }
        }
    }

    private static func left(_ pull: ServedRequest.Pull) -> String? {
        var parts: [String] = []
        if let types = pull.recordTypes { parts.append("only \(types.sorted().map(\.string).joined(separator: ", "))") }
        if let keys = pull.keys {
            parts.append(
                keys.isEmpty
                    ? "system fields only" : "only the fields \(keys.sorted().map(\.string).joined(separator: ", "))")
        }
        if pull.reverse { parts.append("newest first") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

extension TokenReader {
    /// A token by its position, with a link that explains it in its own database.
    func position(of token: ChangeToken, in address: DatabaseAddress, of user: Name, _ visit: Visit) async throws
        -> PullRow.TokenPosition
    {
        guard visit.containers.contains(address.container) else {
            return PullRow.TokenPosition(text: "a token", href: nil, note: "the container was deleted")
        }
        let there = visit.place.with {
            $0.address = address
            $0.user = visit.people.user(user)?.handle
            $0.zone = .unspecified
        }
        let href = there.link("token", [("token", token.text)])
        guard let explanation = try await explanation(of: token, in: address, of: user) else {
            return PullRow.TokenPosition(text: "unknown token", href: href, note: "not from this server")
        }
        let note: String? =
            switch explanation.validity {
            case .good: explanation.moment.map { "\($0.utcText.prefix(19)) UTC" }
            case .expired: "now expired"
            case .foreign: "of another database"
            }
        let text: String =
            switch explanation.progress {
            case .complete: Digits.grouped(explanation.position)
            case .firstPull, .pull: "\(Digits.grouped(explanation.position)), unfinished pull"
            case .reversePull: "\(Digits.grouped(explanation.position)), newest first"
            }
        return PullRow.TokenPosition(text: text, href: href, note: note)
    }
}
