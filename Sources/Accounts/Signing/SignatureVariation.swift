/// A mistake of a client: a difference in the signed message, its description and the remedy.
struct SignatureVariation {
    let change: SignedForm.Change
    /// Description of what was signed, to follow 'was signed' or 'with': `the path without its query`.
    let what: String
    let remedy: String
    /// True if it is also tried in combination with other mistakes.
    var isCommon = false
}

extension SignatureVariation {
    // MARK: Dates

    /// Dates that a client may have signed instead of the one in the header.
    static func dates(insteadOf date: String) -> [SignatureVariation] {
        var variations: [SignatureVariation] = []
        func add(_ date: String, _ what: String, _ remedy: String, isCommon: Bool = false) {
            variations.append(SignatureVariation(change: .date(date), what: what, remedy: remedy, isCommon: isCommon))
        }
        let same = "Create the date once, and use the same text in the header and in the message."
        if let moment = RequestSignature.moment(of: date) {
            let bare = String(date.unicodeScalars.dropLast())
            add("\(bare).000Z", "the date with milliseconds", "Sign the date without milliseconds, as in the header.", isCommon: true)
            for seconds in [-1, 1, -2, 2, -3, 3] as [Int64] {
                let distance = "\(abs(seconds)) second\(abs(seconds) == 1 ? "" : "s") \(seconds < 0 ? "earlier" : "later")"
                add(RequestSignature.date(of: moment + seconds), "a date \(distance)", same, isCommon: abs(seconds) == 1)
            }
            for end in ["+00:00", "+0000", "", "+00", " UTC", "-00:00", ".0Z", ".000000Z"] {
                add(bare + end, "the date with '\(end)' in place of 'Z'", "End the date with Z in the message, too.", isCommon: end == "+00:00")
            }
            add(String(moment), "the date as seconds since 1970", "Sign the text of the header.")
            add(String(moment * 1000), "the date as milliseconds since 1970", "Sign the text of the header.")
            add(date.replacing("T", with: " "), "the date with a space for its T", "Sign the text of the header.")
            add(String(date.prefix(10)), "the day alone", "Sign the text of the header.")
            let compact = date.replacing("-", with: "").replacing(":", with: "")
            add(compact, "the date without - and :", "Sign the text of the header.")
            add("\"\(date)\"", "the date in quotation marks", "Sign the text of the header.")
            for hours in -12...14 as ClosedRange<Int64> where hours != 0 {
                let local = RequestSignature.date(of: moment + hours * 3600)
                add(local, "the date of another time zone, \(abs(hours)) h \(hours < 0 ? "earlier" : "later")", "Use UTC in both places.")
            }
        }
        add("", "no date", "Begin the message with the date of the header.")
        return variations
    }

    // MARK: Earlier requests

    /// Parts of earlier accepted requests, for clients that compose the message too early.
    static func parts(of earlier: [SignatureMemory.Message], insteadOf right: SignedForm) -> [SignatureVariation] {
        let anew = "Create a new message for each request, after its body and path are final."
        return earlier.flatMap { message in
            var variations: [SignatureVariation] = []
            if message.bodyHash != right.bodyHash, !message.bodyHash.isEmpty {
                variations.append(
                    SignatureVariation(change: .bodyHash(message.bodyHash), what: "the hash of an earlier request's body", remedy: anew, isCommon: true))
            }
            if message.target != right.target {
                variations.append(
                    SignatureVariation(change: .target(message.target), what: "the target of an earlier request, \(message.target)", remedy: anew))
            }
            if message.date != right.date {
                variations.append(SignatureVariation(change: .date(message.date), what: "the date of an earlier request", remedy: anew))
            }
            return variations
        }
    }

    // MARK: The message

    static let layouts: [SignatureVariation] = {
        var variations: [SignatureVariation] = []
        func add(_ layout: SignedForm.Layout, _ what: String, _ remedy: String, isCommon: Bool = false) {
            variations.append(SignatureVariation(change: .layout(layout), what: what, remedy: remedy, isCommon: isCommon))
        }
        let noEnd = "Sign the message alone: printf '%s' and not echo, and no line end from a file."
        add(.init(end: "\n"), "the message with a line end behind it", noEnd, isCommon: true)
        add(.init(end: "\r\n"), "the message with a line end (CR LF) behind it", noEnd)
        let names = ["date", "body hash", "target"]
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            add(
                .init(order: order), "the parts in another order: \(order.map { names[$0] }.joined(separator: ", "))",
                "The order is date, body hash, target.", isCommon: order == [0, 2, 1])
        }
        let separators = [
            ("\n", "line ends"), ("", "nothing"), (" ", "spaces"), (",", "commas"), (";", "semicolons"), ("|", "|"), (" : ", "' : '"), (": ", "': '"),
            ("::", "two colons"),
        ]
        for (separator, name) in separators {
            add(.init(separator: separator), "the parts with \(name) between them", "Put one colon between the parts, and nothing else.")
        }
        add(.init(end: ":"), "the message with one more colon behind it", "Put one colon between the parts, and none after them.")
        add(.init(start: ":"), "the message with a colon before it", "Put one colon between the parts, and none before them.")
        add(.init(start: "\"", end: "\""), "the message in quotation marks", "Sign the message without quotation marks.")
        add(.init(start: "'", end: "'"), "the message in quotation marks", "Sign the message without quotation marks.")
        add(.init(end: " "), "the message with a space behind it", "Sign the message alone.")
        add(.init(start: " "), "the message with a space before it", "Sign the message alone.")
        add(.init(order: [0, 1]), "a message without the target", "The message has three parts: date, body hash, target.")
        add(.init(order: [0, 2]), "a message without the body hash", "The message has three parts: date, body hash, target.")
        add(.init(order: [1, 2]), "a message without the date", "The message has three parts: date, body hash, target.")
        return variations
    }()

    static let digests: [SignatureVariation] = {
        let once = "Pass the message itself to the signing function, which hashes it."
        return [
            SignatureVariation(change: .digest(.sha256Twice), what: "the message was hashed before it was signed, and so twice", remedy: once, isCommon: true),
            SignatureVariation(change: .digest(.hexadecimal), what: "the hexadecimal digits of the message's hash were signed", remedy: once, isCommon: true),
            SignatureVariation(change: .digest(.base64), what: "the base64 of the message's hash was signed", remedy: once),
            SignatureVariation(
                change: .digest(.sha1), what: "the message was hashed with SHA-1", remedy: "Sign with SHA-256: openssl dgst -sha256.", isCommon: true),
            SignatureVariation(change: .digest(.sha384), what: "the message was hashed with SHA-384", remedy: "Sign with SHA-256: openssl dgst -sha256."),
            SignatureVariation(change: .digest(.sha512), what: "the message was hashed with SHA-512", remedy: "Sign with SHA-256: openssl dgst -sha256."),
        ]
    }()
}
