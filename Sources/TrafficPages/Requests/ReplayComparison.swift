internal import Console
internal import JSON
internal import Traffic

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
            verdict = bodies?.response?.isCut ?? false ? "The same response, as far as it is kept." : "The same response."
        } else if request.status != replay.status {
            verdict = "Different response: \(replay.statusWords) instead of \(request.statusWords)."
        } else if comparison.differences == 0 {
            verdict = "Different response: hidden values differ."
        } else {
            verdict = "Different response: \(Digits.count(comparison.differences, "line")) differ\(comparison.differences == 1 ? "s" : "")."
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
            let comparable = Self.withoutUUID(value)
            var hidden = HiddenValues()
            self.value = comparable
            bytes = []
            text = RecordJSON.laidOut(showsValues ? comparable : hidden.hide(in: comparable))
        }

        /// An error's uuid is the id of its request, so it always differs.
        private static func withoutUUID(_ value: JSONValue) -> JSONValue {
            guard case .object(let object) = value, object["serverErrorCode"] != nil else { return value }
            return .object(JSONObject(object.map { $0.name == "uuid" ? JSONObject.Member(name: "uuid", value: "‹the request's›") : $0 }))
        }

        static func == (left: Answer, right: Answer) -> Bool { left.value == right.value && left.bytes == right.bytes }
    }
}
