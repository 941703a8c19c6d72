import HTTPServing
import Testing

@Suite("Trusted sites")
struct TrustedSitesTests {
    private let sites = TrustedSites(
        hosts: ["box.example", "lan.example:8080", "not a host", "[fe80::1]"], origins: ["https://App.example"])

    @Test(
        "Hosts",
        arguments: [
            ("localhost", true), ("LocalHost:1", true), ("127.0.0.1", true), ("127.255.0.9:65535", true),
            ("[::1]", true), ("[::1]:80", true),
            ("box.example", true), ("BOX.example:9", true), ("lan.example:8080", true), ("[fe80::1]:1", true),
            ("lan.example", false), ("lan.example:80", false), ("example", false), ("localhost.", false),
            ("localhost:", false), ("localhost:0", false),
            ("localhost:65536", false), ("localhost:80:80", false), ("localhost:+1", false), ("127.0.0", false),
            ("127.0.0.256", false),
            ("127.0.0.01", false), ("127.0.0.1.evil.example", false), ("0.0.0.0", false), ("[::1", false),
            ("[::1]x", false), ("::1", false), ("", false),
            ("not a host", false), ("local\u{212A}ost", false),
        ])
    func hosts(authority: String, isTrusted: Bool) {
        #expect(sites.trusts(authority: authority) == isTrusted)
    }

    @Test(
        "Origins",
        arguments: [
            ("http://localhost", true), ("https://localhost:3000", true), ("http://[::1]:5173", true),
            ("https://app.example", true),
            ("http://box.example", true), ("http://app.example", false), ("https://app.example:444", false),
            ("null", false), ("", false),
            ("localhost", false), ("ftp://localhost", false), ("http://localhost/", false),
            ("http://localhost@evil.example", false),
            ("http://evil.example", false),
        ])
    func origins(origin: String, isTrusted: Bool) {
        #expect(sites.trusts(origin: origin) == isTrusted)
    }
}
