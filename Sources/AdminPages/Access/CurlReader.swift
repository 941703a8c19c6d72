internal import Console
internal import Records

/// A request in the form of a `curl` command.
struct CurlReader: Sendable {
    /// Why the command does not determine the request.
    enum Problem: Error, Sendable, Hashable {
        case noCommand
        case noAddress
        case openQuotation
        /// The body is read from a file.
        case bodyInFile(String)
        /// An option whose result depends on data outside the command.
        case unreadOption(String)
    }

    private(set) var method = "GET"
    private(set) var address = ""
    private(set) var headers: [(name: String, value: String)] = []
    /// `nil` if the request has no body.
    private(set) var body: [UInt8]?
    /// Shell variables in the command. Their values are unknown here.
    private(set) var variables: [String] = []

    /// The method according to `-X`, `-I` and `-G`.
    private var saidMethod: String?
    private var isGet = false

    /// Options that take a value and do not affect the signature.
    private static let skipped = options(
        """
        -o --output --output-dir -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -m --max-time
        --connect-timeout -w --write-out --cacert --capath -E --cert --cert-type --key --key-type --pass --ciphers
        --resolve --connect-to --interface --unix-socket -x --proxy -U --proxy-user --noproxy --retry --retry-delay
        --retry-max-time -D --dump-header --max-redirs --max-filesize --limit-rate -r --range -C --continue-at -z
        --time-cond -y --speed-time -Y --speed-limit --keepalive-time --oauth2-bearer --trace --trace-ascii --stderr
        -P --ftp-port -Q --quote -t --telnet-option
        """)
    /// Options that read a body or further options from elsewhere, or encode them anew.
    private static let unread = options(
        "--data-urlencode --url-query -F --form --form-string -T --upload-file -K --config")
    /// Letters of options that take a value. The rest of the word is the value.
    private static let lettersWithValue = Set("ACDEFHKPQTUXYbcdemortuwxyz")

    private static func options(_ names: String) -> Set<String> {
        Set(names.split { $0 == " " || $0 == "\n" }.map(String.init))
    }

    init(_ text: String) throws(Problem) {
        let (words, variables) = try Self.words(text)
        self.variables = variables
        guard let command = words.firstIndex(where: { $0 == "curl" || $0.hasSuffix("/curl") }) else { throw .noCommand }
        var rest = words[(command + 1)...].makeIterator()
        // A value in the same word as its option.
        var joined: String?
        func value() -> String {
            defer { joined = nil }
            return joined ?? rest.next() ?? ""
        }
        while let word = rest.next() {
            // The rest is another command.
            if word == "|" || word == ";" || word == "&&" { break }
            joined = nil
            if word.hasPrefix("--") {
                let equals = word.firstIndex(of: "=")
                joined = equals.map { String(word[word.index(after: $0)...]) }
                try take(equals.map { String(word[..<$0]) } ?? word, value)
            } else if word.hasPrefix("-") {
                var letters = word.dropFirst()
                while let letter = letters.popFirst() {
                    if Self.lettersWithValue.contains(letter) {
                        if !letters.isEmpty { joined = String(letters) }
                        letters = ""
                    }
                    try take("-\(letter)", value)
                }
            } else if address.isEmpty {
                address = word
            }
        }
        guard !address.isEmpty else { throw .noAddress }
        if isGet, let body {
            address += (address.contains("?") ? "&" : "?") + String(decoding: body, as: UTF8.self)
            self.body = nil
        }
        method = saidMethod ?? (body == nil ? "GET" : "POST")
    }

    private mutating func take(_ option: String, _ value: () -> String) throws(Problem) {
        switch option {
        case "-X", "--request": saidMethod = value()
        case "-H", "--header":
            let header = value()
            if let colon = header.firstIndex(of: ":") {
                let value = header[header.index(after: colon)...]
                headers.append((String(header[..<colon]).trimmingSpaces, String(value).trimmingSpaces))
            }
        case "-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--json":
            let data = value()
            if option != "--data-raw", data.hasPrefix("@") { throw .bodyInFile(String(data.dropFirst())) }
            if body == nil { body = [] } else if option != "--json" { body?.append(UInt8(ascii: "&")) }
            body?.append(contentsOf: data.utf8)
        case "-G", "--get": isGet = true
        case "-I", "--head": saidMethod = "HEAD"
        case "--url": address = value()
        case _ where Self.unread.contains(option): throw .unreadOption(option)
        case _ where Self.skipped.contains(option): _ = value()
        default: break
        }
    }

    /// The path and query, as curl writes them in the request line.
    var target: String {
        let scheme = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        let rest = address[scheme...].prefix { $0 != "#" }
        if scheme == address.startIndex, rest.hasPrefix("/") { return String(rest) }
        guard let start = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return (rest[start] == "?" ? "/" : "") + rest[start...]
    }

    /// The value of a header. The name is case-insensitive.
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The character that an escape in `$'…'` stands for, and the number of digits after its letter. Browsers write
    /// commands with `\u0021` for an exclamation mark.
    /// - Parameter text: what follows the backslash.
    private static func escaped(_ text: ArraySlice<Unicode.Scalar>) -> (scalar: Unicode.Scalar, digits: Int) {
        let letter = text[text.startIndex]
        let limits: [Unicode.Scalar: Int] = ["x": 2, "u": 4, "U": 8]
        guard let limit = limits[letter] else { return (["n": "\n", "t": "\t", "r": "\r"][letter] ?? letter, 0) }
        let digits = text.dropFirst().prefix(limit).prefix { $0.properties.isASCIIHexDigit }
        let number = UInt32(String(String.UnicodeScalarView(digits)), radix: 16)
        return number.flatMap { Unicode.Scalar($0) }.map { ($0, digits.count) } ?? (letter, 0)
    }

    /// The words of a command according to shell syntax. Variables stay unexpanded.
    private static func words(_ text: String) throws(Problem) -> (words: [String], variables: [String]) {
        var words: [String] = []
        var variables: [String] = []
        var word: [Unicode.Scalar] = []
        var isWord = false
        let scalars = Array(text.unicodeScalars)
        var index = 0
        func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
            var view = String.UnicodeScalarView()
            view.append(contentsOf: scalars)
            return String(view)
        }
        func noteVariable() {
            let name = scalars[(index + 1)...].prefix {
                $0.properties.isAlphabetic || $0 == "_" || $0 == "{" || $0 == "("
            }
            if !name.isEmpty { variables.append("$" + string(name.filter { $0 != "{" && $0 != "(" })) }
        }
        while index < scalars.count {
            let scalar = scalars[index]
            switch scalar {
            case "'":
                let isEscaping = word.last == "$"
                if isEscaping { word.removeLast() }
                isWord = true
                index += 1
                while index < scalars.count, scalars[index] != "'" {
                    if isEscaping, scalars[index] == "\\", index + 1 < scalars.count {
                        index += 1
                        let (escaped, digits) = Self.escaped(scalars[index...])
                        word.append(escaped)
                        index += digits
                    } else {
                        word.append(scalars[index])
                    }
                    index += 1
                }
                if index == scalars.count { throw .openQuotation }
            case "\"":
                isWord = true
                index += 1
                while index < scalars.count, scalars[index] != "\"" {
                    if scalars[index] == "\\", index + 1 < scalars.count,
                        "\"\\$`\n".unicodeScalars.contains(scalars[index + 1])
                    {
                        index += 1
                        if scalars[index] != "\n" { word.append(scalars[index]) }
                    } else {
                        if scalars[index] == "$" { noteVariable() }
                        word.append(scalars[index])
                    }
                    index += 1
                }
                if index == scalars.count { throw .openQuotation }
            case "\\":
                index += 1
                if index < scalars.count, scalars[index] == "\r" { index += 1 }
                if index < scalars.count, scalars[index] != "\n" {
                    word.append(scalars[index])
                    isWord = true
                }
            case " ", "\t", "\n", "\r":
                if isWord { words.append(string(word)) }
                (word, isWord) = ([], false)
            default:
                if scalar == "$", index + 1 < scalars.count, scalars[index + 1] != "'" { noteVariable() }
                word.append(scalar)
                isWord = true
            }
            index += 1
        }
        if isWord { words.append(string(word)) }
        return (words, variables)
    }
}
