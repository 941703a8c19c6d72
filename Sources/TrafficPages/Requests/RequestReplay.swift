internal import Accounts
package import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog

/// Replays a request of the log.
package struct RequestReplay {
    /// The possible effect of a replay.
    enum Kind: Sendable {
        case read, write

        /// Operations that use POST and change nothing: those of the protocol, those of the table, and services of our
        /// own that are no rows of it.
        private static let reading = Set(
            [
                "records/query", "records/lookup", "records/changes", "records/resolve", "changes/database",
                "changes/zone", "zones/list", "zones/lookup", "zones/changes", "subscriptions/list",
                "subscriptions/lookup", "users/caller", "users/current", "users/discover", "users/lookup/contacts",
                "users/lookup/email", "users/lookup/id",
            ]
                + (DatabaseServices.all.filter { $0.use != .change }.map(\.path) + [
                    "changes/page", "records/explain", "records/journal", "records/list", "records/lookup",
                    "records/query", "schema/diff", "schema/validate",
                ]).map { "skylight/\($0)" })

        /// - Returns: `nil` if the request can't be replayed: it is truncated, its answer is a stream or concerns
        ///   a file, or its credentials were refused. A replay is always authorized, so its answer would differ.
        init?(_ request: ServedRequest, body: RequestBodies.Body?) {
            guard !request.isStream, !request.hasUnreadBody, !request.operation.hasPrefix("assets/"),
                request.method == "GET" || request.method == "POST",
                (body?.bytes.count ?? 0) == request.bytesIn, ![401, 421].contains(request.status)
            else { return nil }
            let isSkylightRead = request.operation.hasPrefix("skylight/") && request.method == "GET"
            // Requests without a matching service are refused again, so they change nothing.
            let isUnknown = request.operation.hasPrefix("/")
            self = Self.reading.contains(request.operation) || isSkylightRead || isUnknown ? .read : .write
        }
    }

    /// A replay tells what the answer is now, and does not wait for another one.
    private static let waitParameter: Name = "wait"

    let served: ServedRequest
    let body: [UInt8]
    let kind: Kind
    /// The container that answers the replay; `nil` for a request that names none.
    let container: ContainerID?

    /// - Throws: `RecordError` NOT_FOUND if the log does not have the request, BAD_REQUEST if it can't be replayed.
    init(_ id: String?, _ visit: Visit) throws {
        let log = visit.log
        guard let id, let request = log.request(id) else {
            throw RecordError(.notFound, "The log no longer has this request")
        }
        let body = log.bodies(of: request.id)?.request
        guard let kind = Kind(request, body: body) else {
            throw RecordError(
                .badRequest,
                "This request can't be replayed: its body is not fully kept, its response is a stream or a file, or it was not authenticated"
            )
        }
        served = request
        container = request.isPassedOn ? Self.copy(of: request, visit) : request.container
        if request.isPassedOn, container == nil {
            throw RecordError(
                .badRequest,
                "iCloud answered this request, and a replay never goes to iCloud: copy the container to this machine first, on the page Mirror"
            )
        }
        self.body = request.hasWaited ? Self.withoutWait(body?.bytes ?? []) : body?.bytes ?? []
        self.kind = kind
    }

    /// The container that answers the replay of a request that iCloud answered: its mirror, or else the one of the same
    /// name on this machine. A replay never goes to iCloud.
    /// - Returns: `nil` if there is none.
    static func copy(of request: ServedRequest, _ visit: Visit) -> ContainerID? {
        guard let container = request.container else { return nil }
        if let mirror = container.mirror, visit.containers.contains(mirror) { return mirror }
        let isHere = visit.containers.contains(container) && visit.accounts.connections(of: container).isEmpty
        return isHere ? container : nil
    }

    private static func withoutWait(_ body: [UInt8]) -> [UInt8] {
        guard case .object(let object)? = try? JSONReader.value(of: body) else { return body }
        return JSONWriter.bytes(of: .object(JSONObject(object.filter { $0.name != waitParameter })))
    }

    /// The target of the replay.
    private var target: String {
        var target = served.target
        if let container, let own = served.container, container != own,
            let range = target.firstRange(of: "/\(own)/")
        {
            target.replaceSubrange(range, with: "/\(container)/")
        }
        let parts = target.split(separator: "?", maxSplits: 1)
        guard served.hasWaited, let path = parts.first, parts.count == 2 else { return target }
        let query = parts[1].split(separator: "&").filter { !$0.hasPrefix("\(Self.waitParameter)=") }.joined(
            separator: "&")
        return query.isEmpty ? String(path) : "\(path)?\(query)"
    }

    /// The confirmation page for a replay that changes data.
    package static func confirm(_ visit: Visit) throws -> ConfirmationView {
        try RequestReplay(visit.fields["id"], visit).confirmation(visit)
    }

    /// Sends the request again, and leads to the comparison of both answers.
    package static func send(_ asked: ConsoleRequest) async throws -> Answer {
        let visit = try await Visit(asked, fields: try await asked.form())
        return .response(
            try await asked.response(to: visit) { visit in
                let replay = try RequestReplay(visit.fields["id"], visit)
                let services = try asked.console.required(asked.console.webServices)
                let id = try await replay.send(to: services, from: asked.request, asked.context)
                let values = visit.fields["values"].map { [("values", $0)] } ?? []
                return .redirect(visit.place.link("requests", [("id", replay.served.id), ("with", id)] + values))
            })
    }

    private func confirmation(_ visit: Visit) -> ConfirmationView {
        let user = served.userRecordName.map(visit.people.name) ?? (served.isPassedOn ? "the developer" : "nobody")
        let place = served.address.map { " in \(container ?? $0.container), \($0.words)" } ?? ""
        var lines = [
            "\(served.operation) as \(user)\(place), first sent \(served.started.utcText.prefix(19)) UTC, changes stored data again."
        ]
        if served.isPassedOn {
            lines.append("It changes the data on this machine. Nothing is sent to iCloud.")
        } else if served.address?.environment == .production {
            lines.append("This is production.")
        }
        return ConfirmationView(
            on: .requests, title: "Replay \(served.operation)?", lines: lines,
            action: visit.place.link("requests/replay"),
            fields: [Frame.Hidden(name: "id", value: served.id)], button: "Replay",
            cancel: visit.place.link("requests", [("id", served.id)]))
    }

    /// Sends the request to the web services in this process.
    /// - Parameters:
    ///   - original: the console request that starts the replay. It supplies the host.
    /// - Returns: the id of the new request in the log.
    private func send(
        to services: any HTTPResponder<ServingRequestContext>, from original: Request, _ context: ServingRequestContext
    ) async throws -> String {
        var headers = HTTPFields()
        headers[.userAgent] = SkylightVersion.userAgent
        if !body.isEmpty { headers[.contentType] = "application/json" }
        let named: [(String, String?)] = [
            ("X-Skylight-Client", ClientIdentity.replayName), ("X-Skylight-User", served.userRecordName?.string),
            ("X-Skylight-Device", served.client.deviceID),
            ("X-Skylight-Access", served.accessOfReplay),
        ]
        for (name, value) in named {
            if let value, let field = HTTPField.Name(name) { headers[field] = value }
        }
        let head = HTTPRequest(
            method: served.method == "GET" ? .get : .post, scheme: original.head.scheme,
            authority: original.head.authority, path: target, headerFields: headers)
        let fresh = ServingRequestContext(
            source: ApplicationRequestContextSource(channel: context.channel, logger: context.logger))
        do {
            _ = try await services.respond(
                to: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body))), context: fresh)
        } catch is any HTTPResponseError {
            // The log records refusals too.
        }
        return fresh.requestID
    }
}

extension ServedRequest {
    /// The access rights of the replay, if they are not those of a user.
    fileprivate var accessOfReplay: String? {
        if authentication?.way == .owner { return "owner" }
        // Who the user is at iCloud is not known. Here it is the developer.
        if isPassedOn { return nil }
        return authentication != nil && userRecordName == nil ? "anonymous" : nil
    }
}

// MARK: - Comparison

/// The answers to a request and to its replay, side by side.
struct ReplayComparison: ViewModel {
    let verdict: String
    /// `good` or `warn`.
    let tone: String
    let isSame: Bool
    let replayHref: String
    let replayMilliseconds: String
    let milliseconds: String
    /// The status of the original answer and of the replay.
    let then: String
    let now: String
    let lines: [AnswerComparison.Line]
    let isShortened: Bool

    /// - Returns: `nil` if the log does not have the replay.
    init?(_ request: ServedRequest, _ bodies: RequestBodies?, with id: String, _ visit: Visit, showsValues: Bool) {
        guard let replay = visit.log.request(id) else { return nil }
        let other = visit.log.bodies(of: replay.id)
        let (before, after) = (Self.Answer(bodies?.response, showsValues), Self.Answer(other?.response, showsValues))
        let comparison = AnswerComparison(before.text, after.text)
        let isAlike = request.status == replay.status && before == after
        isSame = isAlike
        tone = isAlike ? "good" : "warn"
        if bodies?.response == nil, request.bytesOut > 0 {
            verdict = "The first response is no longer kept."
        } else if isAlike {
            verdict =
                (bodies?.response?.isCut ?? false ? "The same response, as far as it is kept." : "The same response.")
                + (before.hasAddresses ? " Addresses of files, which are another each time, are not compared." : "")
        } else if request.status != replay.status {
            verdict = "Different response: \(replay.statusWords) instead of \(request.statusWords)."
        } else if comparison.differences == 0 {
            verdict = "Different response: hidden values differ."
        } else {
            verdict =
                "Different response: \(Digits.count(comparison.differences, "line")) differ\(comparison.differences == 1 ? "s" : "")."
        }
        replayHref = visit.place.link("requests", [("id", replay.id)])
        replayMilliseconds = Duration.milliseconds(replay.milliseconds).millisecondsText
        milliseconds = Duration.milliseconds(request.milliseconds).millisecondsText
        then = request.statusWords
        now = replay.statusWords
        lines = comparison.lines
        isShortened = comparison.isShortened
    }

    /// One of the answers: its content and its formatted text.
    private struct Answer: Equatable {
        let value: JSONValue?
        let bytes: [UInt8]
        let text: String
        /// True if it has signed addresses of files.
        private(set) var hasAddresses = false

        init(_ body: RequestBodies.Body?, _ showsValues: Bool) {
            guard let body else {
                (value, bytes, text) = (nil, [], "")
                return
            }
            guard let value = BodyText.value(of: body) else {
                (self.value, bytes) = (nil, body.bytes)
                text = showsValues ? String(decoding: body.bytes, as: UTF8.self) : ""
                return
            }
            var hasAddresses = false
            let comparable = Self.comparable(value, &hasAddresses)
            self.hasAddresses = hasAddresses
            var hidden = HiddenValues()
            self.value = comparable
            bytes = []
            text = RecordJSON.laidOut(showsValues ? comparable : hidden.hide(in: comparable))
        }

        /// The answer without what is another each time: the uuid of an error, which is the id of its request, and the
        /// signed addresses of files.
        private static func comparable(_ value: JSONValue, _ hasAddresses: inout Bool) -> JSONValue {
            switch value {
            case .array(let elements): return .array(elements.map { comparable($0, &hasAddresses) })
            case .object(let object):
                let isError = object["serverErrorCode"] != nil
                var members: [JSONObject.Member] = []
                for member in object {
                    var member = member
                    switch (member.name, member.value) {
                    case ("uuid", _) where isError: member.value = "‹the request's›"
                    case ("downloadURL", .string):
                        member.value = "‹signed›"
                        hasAddresses = true
                    default: member.value = comparable(member.value, &hasAddresses)
                    }
                    members.append(member)
                }
                return .object(JSONObject(members))
            default: return value
            }
        }

        static func == (left: Answer, right: Answer) -> Bool { left.value == right.value && left.bytes == right.bytes }
    }
}

/// A line-by-line comparison of two answers.
struct AnswerComparison: ViewModel {
    struct Line: ViewModel {
        let before: String
        let after: String
        /// `same`, `changed`, `removed` or `added`.
        let kind: String

        func child(named name: String) -> Any? {
            switch name {
            case "before": before
            case "after": after
            case "kind": kind
            default: nil
            }
        }
    }

    let lines: [Line]
    let differences: Int
    /// True if equal lines before the first difference and after the last one are omitted.
    let isShortened: Bool

    /// The number of equal lines to show around differences.
    private static let context = 12
    /// The maximum number of lines per side for the common subsequence search. Longer stretches are paired line by
    /// line.
    private static let limit = 1500
    /// The maximum number of lines to show.
    private static let shown = 2000

    init(_ before: String, _ after: String) {
        let left = before.split(separator: "\n", omittingEmptySubsequences: false).map { Name($0) }
        let right = after.split(separator: "\n", omittingEmptySubsequences: false).map { Name($0) }
        var prefix = 0
        while prefix < min(left.count, right.count), left[prefix] == right[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < min(left.count, right.count) - prefix,
            left[left.count - 1 - suffix] == right[right.count - 1 - suffix]
        { suffix += 1 }
        let middle = Self.lines(Array(left[prefix..<left.count - suffix]), Array(right[prefix..<right.count - suffix]))
        differences = middle.count { $0.kind != "same" }
        let hasDifferences = differences > 0
        let first = hasDifferences ? max(0, prefix - Self.context) : 0
        let last = hasDifferences ? min(suffix, Self.context) : suffix
        let all =
            left[first..<prefix].map { Line(before: $0.string, after: $0.string, kind: "same") } + middle
            + left[(left.count - suffix)...].prefix(last).map {
                Line(before: $0.string, after: $0.string, kind: "same")
            }
        lines = Array(all.prefix(Self.shown))
        isShortened = first > 0 || last < suffix || all.count > Self.shown
    }

    /// The lines of two stretches, with common lines side by side.
    private static func lines(_ left: [Name], _ right: [Name]) -> [Line] {
        guard left.count <= limit, right.count <= limit else { return paired(left, right) }
        // Numbers make the many comparisons cheap. Equal lines have equal numbers.
        var numbers: [Name: Int32] = [:]
        func number(_ line: Name) -> Int32 {
            if let number = numbers[line] { return number }
            numbers[line] = Int32(numbers.count)
            return Int32(numbers.count - 1)
        }
        let (leftNumbers, rightNumbers) = (left.map { number($0) }, right.map { number($0) })
        // The length of the longest common subsequence from each pair of positions to the end.
        let width = right.count + 1
        var lengths = [Int32](repeating: 0, count: (left.count + 1) * width)
        for row in left.indices.reversed() {
            for column in right.indices.reversed() {
                lengths[row * width + column] =
                    leftNumbers[row] == rightNumbers[column]
                    ? lengths[(row + 1) * width + column + 1] + 1
                    : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
            }
        }
        var lines: [Line] = []
        var (row, column) = (0, 0)
        var (removed, added): ([Name], [Name]) = ([], [])
        while row < left.count || column < right.count {
            if row < left.count, column < right.count, leftNumbers[row] == rightNumbers[column] {
                lines += paired(removed, added)
                (removed, added) = ([], [])
                lines.append(Line(before: left[row].string, after: right[column].string, kind: "same"))
                (row, column) = (row + 1, column + 1)
            } else if column == right.count
                || row < left.count && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]
            {
                removed.append(left[row])
                row += 1
            } else {
                added.append(right[column])
                column += 1
            }
        }
        return lines + paired(removed, added)
    }

    /// Pairs differing lines in order.
    private static func paired(_ left: [Name], _ right: [Name]) -> [Line] {
        (0..<max(left.count, right.count)).map { index in
            let before = index < left.count ? left[index].string : nil
            let after = index < right.count ? right[index].string : nil
            return Line(
                before: before ?? "", after: after ?? "",
                kind: before == nil ? "added" : after == nil ? "removed" : "changed")
        }
    }
}
