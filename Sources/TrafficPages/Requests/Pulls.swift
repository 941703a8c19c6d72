internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The pulls in a request: the start, the end and the result of each.
enum Pulls {
    /// The position of a token.
    struct TokenPosition: ViewModel {
        let text: String
        /// The link that explains the token.
        let href: String?
        let note: String?

        fileprivate var inline: Inline {
            let shown = href.map { Inline.link(text, $0) } ?? Inline(text)
            return note.map { "\(shown) \(.faint(Inline($0)))" } ?? shown
        }
    }

    /// The maximum number of pulls to show per request.
    private static let limit = 200

    static func rows(of request: ServedRequest, _ visit: Visit) async throws -> [Table.Row] {
        guard let address = request.address else { return [] }
        let tokens = TokenReader(visit)
        var rows: [Table.Row] = []
        for pull in request.pulls.prefix(limit) {
            let zone = pull.zoneID?.zoneName.string ?? "the list of zones"
            let href = pull.zoneID.flatMap { place(request, address, visit)?.inZone($0).link("changes") }
            let from = try await position(pull.sent, request, address, tokens, visit)
            let to = try await position(pull.given, request, address, tokens, visit)
            let error = pull.error.map { Inline("\($0.code.rawValue): \($0.reason)").styled("bad") } ?? ""
            let next: Inline =
                pull.moreComing
                ? .badge("more coming", "lacks") : pull.error == nil ? .faint("nothing more") : ""
            let left: Inline? = left(pull).map { " \(.faint(Inline($0)))" }
            rows.append(
                Table.Row([
                    href.map { .link(zone, $0) } ?? Inline(zone), from?.inline ?? "the start \(.faint("no token"))",
                    (to?.inline ?? "") + error, Inline(Digits.grouped(pull.changes)), next + (left ?? ""),
                ]))
        }
        return rows
    }

    /// The position of a token, or a note that it can't be read.
    private static func position(
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
        -> Pulls.TokenPosition
    {
        guard visit.containers.contains(address.container) else {
            return Pulls.TokenPosition(text: "a token", href: nil, note: "the container was deleted")
        }
        let there = visit.place.with {
            $0.address = address
            $0.user = visit.people.user(user)?.handle
            $0.zone = .unspecified
        }
        let href = there.link("token", [("token", token.text)])
        guard let explanation = try await explanation(of: token, in: address, of: user) else {
            return Pulls.TokenPosition(text: "unknown token", href: href, note: "not from this server")
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
        return Pulls.TokenPosition(text: text, href: href, note: note)
    }
}
