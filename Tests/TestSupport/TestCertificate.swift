/// A self-signed certificate for `localhost`, `127.0.0.1` and `::1`, valid for a hundred years. No system trusts it.
public enum TestCertificate {
    public static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBvDCCAWKgAwIBAgIUFXa61Z3XwblcRii9nn00RQdtHmowCgYIKoZIzj0EAwIw
        GzEZMBcGA1UEAwwQU2t5bGlnaHQncyB0ZXN0czAgFw0yNjExMjIwNjEzMjVaGA8y
        MTI2MTAyOTA2MTMyNVowGzEZMBcGA1UEAwwQU2t5bGlnaHQncyB0ZXN0czBZMBMG
        ByqGSM49AgEGCCqGSM49AwEHA0IABKqwsyMvLQnnG7qrGvb3gdMWudlUHZHA5rju
        aSCBT98KRU3wLLsUIfEqQjYS1SV02S955p1rya5xI11FAKnxZe2jgYEwfzAdBgNV
        HQ4EFgQUQ5N8krsiRcoUCsM782PmX0JtkbUwHwYDVR0jBBgwFoAUQ5N8krsiRcoU
        CsM782PmX0JtkbUwDwYDVR0TAQH/BAUwAwEB/zAsBgNVHREEJTAjgglsb2NhbGhv
        c3SHBH8AAAGHEAAAAAAAAAAAAAAAAAAAAAEwCgYIKoZIzj0EAwIDSAAwRQIgd+wo
        lKMV+/W/UaSKql7CC4tnoUNh4ONaDNnLTa+HzT8CIQDvnu0qClUS8XqylU2u19nl
        ijK1cOAFNL7W3NZdQsN9zA==
        -----END CERTIFICATE-----

        """

    public static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFcW0OnCqlM2taMt4
        VmPlclGk5FWPl/nZMuQ/cO9fmy2hRANCAASqsLMjLy0J5xu6qxr294HTFrnZVB2R
        wOa47mkggU/fCkVN8Cy7FCHxKkI2EtUldNkveeada8mucSNdRQCp8WXt
        -----END PRIVATE KEY-----

        """

    /// A private key that belongs to no certificate.
    public static let otherKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIKVCm2N2wy3PReR72LGnyUAEPk9MrG66ZPWuUde6g+GroAoGCCqGSM49
        AwEHoUQDQgAEUbh8La2m+I77WkBGawvJ2ptHUswayRGRkZbaqXPe6NXh85pwVSdo
        NZ8ZsAxAu/nRFrhr+Q7G+XB3ULyLo0zZcw==
        -----END EC PRIVATE KEY-----

        """
}
