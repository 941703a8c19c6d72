import ArgumentParser
import CloudKitClient
import Foundation
import HTTPServing
import Records
import WebServices

/// The options of a server that answers in iCloud's place.
struct ICloudOptions: ParsableArguments {
    @Flag(
        name: .customLong("as-icloud"),
        help:
            "Answer for api.apple-cloudkit.com too, over TLS on a port of its own, for clients with that host compiled in. 'skylight as-icloud' says how each gets there."
    )
    var asICloud = false

    @Option(
        name: .customLong("icloud-port"),
        help: "The port of --as-icloud, for TLS and as an HTTPS proxy; 0 picks a free one.")
    var port = 8443

    @Option(
        name: .customLong("proxy"),
        help: ArgumentHelp(
            "Pass the requests for this container that come to api.apple-cloudkit.com on to iCloud, and show them in the console. Implies --as-icloud.",
            valueName: "container"),
        transform: { try ContainerID(argument: $0) })
    var proxied: ContainerID?

    @Option(
        help: ArgumentHelp(
            "Another server that speaks CloudKit's protocol, to which --proxy passes on. (default: iCloud's)",
            valueName: "address"),
        transform: { try ServerAddress($0) })
    var origin: ServerAddress?

    /// True to answer in iCloud's place.
    var isOn: Bool { asICloud || proxied != nil }

    func validate() throws {
        if !(0...65535).contains(port) { throw ValidationError("--icloud-port is a number from 0 to 65535.") }
        if origin != nil, proxied == nil {
            throw ValidationError("--origin belongs to --proxy: name the container that is passed on.")
        }
    }

    /// The proxy of the options; `nil` without one.
    /// - Throws: `CommandFailure` if the certificates of `SKYLIGHT_TLS_CA` can't be used.
    func proxy() throws -> Proxy? {
        guard let proxied else { return nil }
        do {
            return try Proxy(
                for: proxied, to: origin?.description, trusting: try RunningServer.trustedCertificates)
        } catch let failure as CloudKitFailure {
            throw CommandFailure(.badData, "The proxy can't be used: \(failure)")
        }
    }
}

/// The hosts of iCloud that a server answers for, and its certificate authority in a data folder.
struct ICloudStandIn {
    /// The host that clients of CloudKit Web Services have compiled in. The server's own answers lead to no other.
    static let hosts = [ClientConfiguration.cloudKit].compactMap { URL(string: $0)?.host() }

    /// The hosts that iCloud's answers name, for files, notifications and the sign-in (docs/clients.md). One that begins
    /// with a dot stands for all names that end with it.
    static let namedHosts = [
        ".icloud-content.com", "webcourier.push.apple.com", "webcourier.sandbox.push.apple.com", "idmsa.apple.com",
        "setup.apple-cloudkit.com", "cdn.apple-cloudkit.com",
    ]

    let folder: URL

    /// The certificate of the authority, for clients.
    var certificateFile: URL { folder.appending(path: "icloud-authority.pem") }
    private var keyFile: URL { folder.appending(path: "icloud-authority.key") }

    /// The authority of the folder; `nil` if there is none, or if it has expired.
    var authority: CertificateAuthority? {
        guard let certificate = try? String(contentsOf: certificateFile, encoding: .utf8),
            let key = try? String(contentsOf: keyFile, encoding: .utf8)
        else { return nil }
        return CertificateAuthority(for: Self.hosts, certificate: certificate, privateKey: key)
    }

    /// Opens the authority of the folder, or makes one.
    /// - Throws: `CommandFailure` if it can't be stored.
    func openAuthority() throws -> CertificateAuthority {
        if let authority { return authority }
        let made = try CertificateAuthority(for: Self.hosts)
        do {
            // The key first: a certificate without its key is made anew.
            try PrivateFile.write(made.privateKey + "\n", to: keyFile)
            try PrivateFile.write(made.certificate, to: certificateFile)
        } catch {
            throw CommandFailure(
                .cannotCreate,
                "The certificate authority of --as-icloud can't be stored in the data folder: \(error.localizedDescription)"
            )
        }
        return made
    }
}

/// Files that only their owner can read.
enum PrivateFile {
    /// Writes a file atomically.
    static func write(_ text: String, to url: URL) throws {
        let (path, draft) = (url.path(percentEncoded: false), url.path(percentEncoded: false) + ".new")
        _ = unlink(draft)
        // Creates the file with its final permissions, so that other users can never read it.
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
        guard rename(draft, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }
}

// MARK: - How clients get there

struct AsICloudCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "as-icloud",
        abstract: "Print how each kind of client gets to a server with --as-icloud.",
        discussion: """
            For each kind of client, it prints the line that leads its requests for \(ICloudStandIn.hosts.joined(separator: ", ")) to the server that has the \
            data folder open, and lets that client alone trust the server's certificate. The line holds for one program; without it, the program is \
            at iCloud again. Skylight installs no certificate in the system.

            Example:
              skylight serve --as-icloud
              skylight as-icloud
            """)

    @OptionGroup var common: CommonOptions

    /// A client and its line.
    private struct Way {
        let client: String
        let line: String
    }

    func run() throws {
        let standIn = ICloudStandIn(folder: common.dataFolder.url)
        guard let address = common.dataFolder.serverFile.entry?.asICloud, let authority = standIn.authority else {
            throw CommandFailure(
                .unavailable, "No server answers in iCloud's place with the data folder \(common.dataFolder.path)",
                code: "NO_SERVER", remedy: "Start one: skylight serve --as-icloud")
        }
        let ways = Self.ways(
            to: address, trusting: standIn.certificateFile.path(percentEncoded: false), try authority.serverKeyHash)
        Output(isJSON: common.json).say(
            lines: ways.flatMap { ["\($0.client):", "  \($0.line)"] },
            notes: [
                "Each line leads one program there; without it, the program is at iCloud again. As a proxy, Skylight leads nowhere else, except with serve --proxy to the hosts that iCloud's answers name."
            ]
        ) { answer in
            answer.member("address", address)
            answer.member("hosts", values: ICloudStandIn.hosts) { $0.value($1) }
            answer.member("authority", standIn.certificateFile.path(percentEncoded: false))
            answer.member("clients", values: ways) { list, way in
                list.object {
                    $0.member("client", way.client)
                    $0.member("line", way.line)
                }
            }
        }
    }

    /// - Parameters:
    ///   - address: such as `https://127.0.0.1:8443`.
    ///   - file: the path of the authority's certificate.
    ///   - hash: the hash of the server's key.
    private static func ways(to address: String, trusting file: String, _ hash: String) -> [Way] {
        let place = address.replacing("https://", with: "")
        let (proxy, file) = ("HTTPS_PROXY=http://\(place)", "'\(file.replacing("'", with: #"'\''"#))'")
        let mapping = ICloudStandIn.hosts.map { "MAP \($0):443 \(place)" }.joined(separator: ", ")
        return [
            Way(client: "curl", line: "curl --proxy http://\(place) --cacert \(file) https://api.apple-cloudkit.com/…"),
            Way(client: "Python (requests)", line: "\(proxy) REQUESTS_CA_BUNDLE=\(file) python3 …"),
            Way(client: "Python (urllib, httpx)", line: "\(proxy) SSL_CERT_FILE=\(file) python3 …"),
            Way(
                client: "Node.js 24 or newer (fetch)",
                line: "NODE_USE_ENV_PROXY=1 \(proxy) NODE_EXTRA_CA_CERTS=\(file) node …"),
            Way(
                client: "Node.js, clients that read HTTPS_PROXY by themselves",
                line: "\(proxy) NODE_EXTRA_CA_CERTS=\(file) node …"),
            Way(
                client: "Swift on Linux (URLSession)",
                line: "\(proxy) URLSessionCertificateAuthorityInfoFile=\(file) swift run …"),
            Way(
                client: "Chromium, in a profile of its own",
                line:
                    "chromium --user-data-dir=/tmp/as-icloud --host-resolver-rules='\(mapping)' --ignore-certificate-errors-spki-list=\(hash)"
            ),
        ]
    }
}
