internal import Foundation
package import Records

/// Explains to the developer of a client why a signature was rejected. CloudKit gives no such explanation.
public struct SignatureProblem: Sendable, Hashable {
    /// The kind of a problem.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// One of the three headers is missing or empty.
        case incomplete
        /// The key is not registered.
        case unknownKey
        case revokedKey
        /// The key belongs to another container or environment.
        case otherPlace
        /// The date does not have the format `yyyy-MM-ddTHH:mm:ssZ`.
        case date
        /// The date differs by more than ten minutes.
        case clock
        /// The signature is not base64.
        case encoding
        /// The correct message was signed or encoded in another way.
        case form
        /// Another body was signed, or its hash was encoded differently.
        case body
        /// Another path or query was signed.
        case target
        /// The signed date differs from the header.
        case signedDate
        /// The signature was made with another key.
        case key
        /// More than one part differs.
        case several
        /// The cause could not be determined.
        case undetermined
    }

    public let kind: Kind
    /// The problem in one or two sentences.
    public private(set) var sentence: String
    /// The expected value: the message that the server computes for the request, unless the kind implies something
    /// else.
    public let expected: String
    /// The received value, as far as it is known.
    public let received: String
    /// How to correct the client.
    public let remedy: String
    /// True if the cause is proved, false if it is a guess.
    public let isCertain: Bool
    /// The parts of the message; empty if the check ended earlier.
    package internal(set) var parts: [SignedPart]

    package init(
        _ kind: Kind, _ sentence: String, expected: String, received: String, remedy: String, isCertain: Bool = true,
        parts: [SignedPart] = []
    ) {
        self.kind = kind
        self.sentence = sentence
        self.expected = expected
        self.received = received
        self.remedy = remedy
        self.isCertain = isCertain
        self.parts = parts
    }
}

extension SignatureProblem {
    /// The problem with an additional sentence.
    func adding(_ more: String) -> SignatureProblem {
        var problem = self
        problem.sentence += " \(more)"
        return problem
    }
}

/// The result of verifying the signature of a request.
public enum SignatureVerdict: Sendable, Hashable {
    case accepted(ServerKey)
    case refused(SignatureProblem)
}

// MARK: - Headers and keys

// Problems that are known before a signature is examined.
extension SignatureProblem {
    static func incomplete(_ request: SignedRequest) -> SignatureProblem? {
        let headers = ["KeyID", "ISO8601Date", "SignatureV1"].map { "X-Apple-CloudKit-Request-\($0)" }
        let missing = zip(headers, [request.keyID, request.date, request.signature]).filter(\.1.isEmpty).map(\.0)
        guard !missing.isEmpty else { return nil }
        return SignatureProblem(
            .incomplete,
            "A signed request needs three headers; \(missing.joined(separator: " and ")) is missing or empty.",
            expected: "\(headers[0]), \(headers[1]) and \(headers[2])",
            received: missing.map { "no \($0)" }.joined(separator: ", "), remedy: "Send all three headers.")
    }

    static func unknownKey(_ keyID: String, of keys: [ServerKey], for request: SignedRequest) -> SignatureProblem {
        let place = "\(request.container) (\(request.environment.rawValue))"
        let here = keys.filter {
            $0.isLive && $0.container == request.container && $0.environment == request.environment
        }
        let known = here.isEmpty ? "No key is" : here.count == 1 ? "One key is" : "\(here.count) keys are"
        let isID = Hexadecimal.bytes(of: keyID.utf8)?.count == 32
        let form = isID ? "" : " A key ID has 64 hexadecimal digits."
        return SignatureProblem(
            .unknownKey,
            "The key '\(keyID.prefix(80))' is not registered.\(form) \(known) registered for \(place).",
            expected: here.isEmpty
                ? "a registered key" : here.prefix(5).map { "\($0.keyID) (\($0.name))" }.joined(separator: "\n"),
            received: String(keyID.prefix(80)),
            remedy: here.isEmpty
                ? "Register the public key of \(place) with 'skylight key register', and send the key ID that it prints."
                : "Send the ID of the key that signs the request, or register its public key with 'skylight key register'."
        )
    }

    static func revokedKey(_ key: ServerKey) -> SignatureProblem {
        SignatureProblem(
            .revokedKey, "The key '\(key.name)' was revoked.", expected: "an active key",
            received: "\(key.keyID), revoked",
            remedy: "Create a new key pair, register it with 'skylight key register', and sign with it.")
    }

    static func otherPlace(_ key: ServerKey, _ request: SignedRequest) -> SignatureProblem {
        SignatureProblem(
            .otherPlace,
            "The key '\(key.name)' is registered for \(key.container) (\(key.environment.rawValue)), and the request "
                + "is for \(request.container) (\(request.environment.rawValue)). A key is valid in one environment of "
                + "one container.",
            expected: "\(key.container)/\(key.environment.rawValue)",
            received: "\(request.container)/\(request.environment.rawValue)",
            remedy: "Send the request to the key's own environment, or register the same public key here too: it gets "
                + "its own ID.")
    }
}

// MARK: - Date

extension SignatureProblem {
    /// The problem of a date with another form, or too far from the server's time; `nil` if the date is correct.
    static func ofDate(_ date: String, now: Date) -> SignatureProblem? {
        let moment = now.timeIntervalSince1970
        let right = RequestSignature.date(of: Int64(moment.rounded(.down)))
        guard let signed = RequestSignature.moment(of: date) else {
            return SignatureProblem(
                .date, "The date is not of the form yyyy-MM-ddTHH:mm:ssZ: \(flaw(of: Array(date.utf8))).",
                expected: "such as \(right)", received: String(date.prefix(100)),
                remedy:
                    "Write the date in UTC, to the second, as in \(right): date -u +%Y-%m-%dT%H:%M:%SZ. Use the same "
                    + "text in the message.")
        }
        let (ahead, window) = (Double(signed) - moment, RequestSignature.window)
        let distance = abs(ahead)
        guard distance > Double(window) else { return nil }
        let isLocalTime = distance < 15 * 3600 && abs(distance - (distance / 1800).rounded() * 1800) < 60
        return SignatureProblem(
            .clock,
            "The date is \(text(distance)) \(ahead < 0 ? "behind" : "ahead of") this server's clock; \(window / 60) "
                + "minutes are allowed.",
            expected: "\(right), within \(window / 60) minutes", received: date,
            remedy: isLocalTime
                ? "It looks like local time with a Z at the end: write the date in UTC, date -u +%Y-%m-%dT%H:%M:%SZ."
                : "Create a new date and signature for each request, and check the clocks of both machines.")
    }

    /// Describes the error in the format.
    private static func flaw(of date: [UInt8]) -> String {
        func has(_ characters: String, at index: Int) -> Bool { characters.utf8.contains(date[index]) }
        let isNumber = date.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return switch date.count {
        case 10 where isNumber: "this is a number of seconds since 1970"
        case 13 where isNumber: "this is a number of milliseconds since 1970"
        case 26... where date[0] >= UInt8(ascii: "A"): "this is the form of the HTTP header Date"
        case 21... where has(".", at: 19) && date.last == UInt8(ascii: "Z"): "it has fractions of a second"
        case 20... where has("+-", at: 19): "it has the offset of a time zone in place of Z"
        case 19: "the Z is missing"
        case 20 where has(" ", at: 10): "there is a space instead of the T"
        case 15, 16: "it is written without - and :"
        case 20: "there is no such time, or a character is wrong"
        default: "it has \(date.count) bytes, and should have 20"
        }
    }

    /// `11 minutes`, `2 hours 5 minutes`, `3 days`.
    private static func text(_ seconds: Double) -> String {
        func count(_ number: Int, _ unit: String) -> String { "\(number) \(unit)\(number == 1 ? "" : "s")" }
        let minutes = Int((min(seconds, 1e12) / 60).rounded(.down))
        let (hours, rest) = minutes.quotientAndRemainder(dividingBy: 60)
        if hours >= 48 { return count(hours / 24, "day") }
        if hours == 0 { return count(minutes, "minute") }
        return count(hours, "hour") + (rest == 0 ? "" : " \(count(rest, "minute"))")
    }
}
